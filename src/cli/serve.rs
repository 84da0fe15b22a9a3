//! `countersign serve` and `reload`: runs the daemon in the foreground, with its log on stderr, and
//! puts a changed config in force.

use super::{
    Context, init,
    say::{self, escaped, wants_colour},
};
use crate::{
    config::Config,
    daemon::{self, Inherited, ServeOptions},
};
use anyhow::{Context as _, Result};
use countersign_port::line;
use std::{
    io::{self, Write},
    os::unix::fs::PermissionsExt,
};
use tracing_subscriber::{EnvFilter, field::MakeExt, fmt::format};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints one line `ready URL` on stdout when it accepts calls; the URL is the inbox, without its
token in systemd's journal and with --no-link. Everything else it says goes to stderr.
SIGTERM stops it cleanly, and asks that wait then wait on at the next start.
Where there is no config yet, it makes one first, as `countersign init` does.
COUNTERSIGN_LOG=debug logs more; COUNTERSIGN_LOG_FORMAT=json logs JSON.")]
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

pub(super) fn run(context: &Context, args: &ServeArgs) -> Result<()> {
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
    runtime.block_on(daemon::run(config, options, inherited))
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

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A config with a mistake is refused, and the one before stays in force. No open ask is lost. SIGHUP
does the same.")]
pub(super) struct ReloadArgs {
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn reload(context: &Context, args: &ReloadArgs) -> Result<()> {
    let reply = context.approver()?.reload().await?;
    say::reply(&reply, &reply.message, args.json)
}

/// Starts the log, as text or JSON.
fn start_log(filter: EnvFilter) {
    let colour = wants_colour(&io::stderr());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colour);
    let json = std::env::var("COUNTERSIGN_LOG_FORMAT").is_ok_and(|format| format == "json");
    if json {
        log.json().with_writer(|| Escaped(io::stderr())).init();
    } else {
        // SECURITY: a name with a line break could look like an event of ours, and a control
        // character could change what the terminal shows.
        let fields = format::debug_fn(|out, field, value| {
            let value = line(&format!("{value:?}"));
            match field.name() {
                "message" => write!(out, "{value}"),
                // Added by tracing-log to the records of other crates; they repeat target and
                // position.
                log if log.starts_with("log.") => Ok(()),
                name => write!(out, "{name}={value}"),
            }
        });
        let fields = fields.delimited(" ");
        log.fmt_fields(fields).with_target(false).with_writer(io::stderr).init();
    }
}

/// A writer of JSON lines that escapes every hidden character.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // tracing writes each event in one call, so no character is split between two.
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(escaped(&text).as_bytes())?;
        // The caller counts its own bytes, not the escaped ones.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
