//! `countersign open`: opens the inbox in the browser.

use super::{Context, Exit, inbox, say};
use anyhow::{Context as _, Result};
use std::{
    env,
    ffi::OsStr,
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::{Command, Stdio},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where there is no display it prints the link instead. Run it as the user of the daemon.")]
pub(super) struct OpenArgs {
    /// Print the link and open nothing
    #[arg(long)]
    print: bool,
}

pub(super) async fn run(context: &Context, args: &OpenArgs) -> Result<Exit> {
    match args.print {
        true => say::out(&inbox::link(context).await?)?,
        false => inbox(context).await?,
    }
    Ok(Exit::Good)
}

/// Opens the inbox in the browser; prints the link where there is no display.
pub(super) async fn inbox(context: &Context) -> Result<()> {
    let link = inbox::link(context).await?;
    let shown = match opener() {
        Some(opener) => {
            let page = context.config()?.daemon.state_dir.join("open.html");
            write(&page, &link).with_context(|| format!("cannot write {}", page.display()))?;
            open(opener, &page)
        }
        None => false,
    };
    say::out(if shown { "The inbox is open in your browser." } else { &link })
}

/// Opens a file in the browser; returns whether there is one.
pub(super) fn show(page: &Path) -> bool {
    opener().is_some_and(|opener| open(opener, page))
}

/// The program that opens a file in the browser of this display, if there is a display.
fn opener() -> Option<&'static str> {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return (!is_set("SSH_CONNECTION")).then_some("open");
    }
    (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")).then_some("xdg-open")
}

/// Writes a page that goes on to the link.
// SECURITY: the link is in a private file and not among the arguments of the browser, because every
// process of this machine can read those, agents among them.
fn write(page: &Path, link: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(page)?;
    writeln!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>countersign</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\">"
    )
}

/// Returns whether the opener took the page.
fn open(opener: impl AsRef<OsStr>, page: &Path) -> bool {
    let mut command = Command::new(opener);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
