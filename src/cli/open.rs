//! `countersign open` and `inbox`: opens the inbox in the browser, or prints its address.

use super::{Context, say};
use crate::{
    config::{ClientSettings, Server},
    daemon,
};
use anyhow::{Context as _, Result};
use countersign_client::Client;
use serde_json::json;
use std::{
    env,
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where there is no display it prints the link instead. Run it as the user of the daemon.")]
pub(super) struct OpenArgs {
    /// Print the link and open nothing
    #[arg(long)]
    print: bool,
    /// Print the link as JSON
    #[arg(long)]
    json: bool,
}

impl From<InboxArgs> for OpenArgs {
    fn from(InboxArgs { json }: InboxArgs) -> Self {
        Self { print: true, json }
    }
}

pub(super) async fn run(context: &Context, args: &OpenArgs) -> Result<()> {
    if args.json {
        say::json(&json!({ "inbox": link(context).await? }))
    } else if args.print {
        say::out(&link(context).await?)
    } else {
        inbox(context).await
    }
}

/// Opens the inbox in the browser; prints the link where there is no display.
pub(super) async fn inbox(context: &Context) -> Result<()> {
    let link = link(context).await?;
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

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The address is a new one at every start of the daemon. It is read from the daemon's own folder:
where the daemon runs as another user, run this as that user, such as with
`sudo -u countersign`.")]
pub(super) struct InboxArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// The inbox's address at the running daemon, with the token that opens it.
async fn link(context: &Context) -> Result<String> {
    let config = context.config()?;
    let server = Server::Unix(config.daemon.socket.clone());
    // Always the daemon's own socket, whatever `[client]` names: only the daemon's user can create
    // it, so the address in the reply is genuine.
    let settings = ClientSettings { url: vec![server], token: None, ..config.client.clone() };
    let ready = Client::new(&settings, Duration::from_secs(5))?.ready().await?;
    let file = daemon::inbox_token_file(&config.daemon.state_dir);
    let token = fs::read_to_string(&file).with_context(|| {
        format!("cannot read {}; run this as the user of the daemon", file.display())
    })?;
    Ok(format!("{}/?token={}", say::literal(&ready.inbox), token.trim()))
}
