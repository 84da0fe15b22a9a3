//! `countersign serve`: runs the daemon in the foreground.

use super::{Context, Exit, init, say};
use crate::{
    config::Config,
    daemon::{self, Inherited, ServeOptions},
};
use anyhow::{Context as _, Result};
use std::os::unix::fs::PermissionsExt;
use tracing_subscriber::EnvFilter;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints one line `ready URL` on stdout when it takes asks; the URL is the inbox, without its
token in systemd's journal and with --no-link. Everything else it says goes to stderr.
SIGTERM stops it cleanly, and asks that wait then wait on at the next start.
Where there is no config yet, it makes one first, as `countersign init` does.
COUNTERSIGN_LOG=debug says more; COUNTERSIGN_LOG_FORMAT=json says it in JSON.")]
pub(super) struct ServeArgs {
    /// Open a first ask, to have something to press
    #[arg(long)]
    demo: bool,
    /// Start with whatever store is found, or a fresh one, where the one that was there is gone
    #[arg(long)]
    new_store: bool,
    /// Print the inbox's address without the token that opens it, for a stdout that is a log
    #[arg(long)]
    no_link: bool,
}

pub(super) fn run(context: &Context, args: &ServeArgs) -> Result<Exit> {
    let file = Config::file(context.flag.as_deref())?;
    // Only at the default path: a named file that is missing is a mistake.
    if context.named().is_none() && !file.exists() {
        let made = init::write(&file, false)?;
        say::aside(&format!("made {} and {}\n", made.config.display(), made.token.display()));
    }
    // Before any thread is started: this removes the variables of socket activation from the
    // environment.
    let inherited = Inherited::take()?;
    let config = context.config()?;
    begin_log(args.demo);
    warn_if_open_to_others(&config);
    let runtime = tokio::runtime::Runtime::new().context("the runtime did not start")?;
    let options =
        ServeOptions { demo: args.demo, new_store: args.new_store, no_link: args.no_link };
    runtime.block_on(daemon::run(config, options, inherited))?;
    Ok(Exit::Good)
}

fn begin_log(demo: bool) {
    // A demo shows its instructions on the same terminal, so it logs warnings only.
    let filter = EnvFilter::try_from_env("COUNTERSIGN_LOG")
        .or_else(|_| EnvFilter::try_from_default_env())
        .unwrap_or_else(|_| EnvFilter::new(if demo { "warn" } else { "warn,countersign=info" }));
    // SECURITY: serenity logs whole events, including interaction tokens, if it cannot parse one.
    let filter = match "serenity=off".parse() {
        Ok(quiet) => filter.add_directive(quiet),
        Err(_) => filter,
    };
    start_log(filter);
}

fn warn_if_open_to_others(config: &Config) {
    let Some(file) = &config.path else { return };
    let mode = std::fs::metadata(file).map_or(0, |found| found.permissions().mode());
    if mode & 0o077 != 0 {
        tracing::warn!(
            "others on this machine may read {file}; close it with `chmod 600 {file}`",
            file = file.display()
        );
    }
}
