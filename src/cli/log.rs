//! `countersign log`: what happened, event by event.

mod csv;
mod export;
mod head;
mod key;
mod kinds;
pub(super) mod verify;
mod words;

use super::{
    Context, Exit,
    say::{self, Colour},
    table::{self, Cell},
    token,
};
use anyhow::Result;
use countersign_client::{Client, ClientError, Happened};
use countersign_tokens::clock;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use words::{of, told};

/// The pause before a lost stream is followed again.
const PAUSE: Duration = Duration::from_secs(1);
/// How many ids of events are known, so that none is shown twice.
const KNOWN: usize = 4_096;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Kinds of events: asked, shown, voted, answered, expired, cancelled, postponed, undone, overtaken
(answered at the agent), reminded, escalated, handed_over (to another target), undelivered,
started, finished (a call that was approved), refused (somebody who may not answer tried to),
ruled (policy denied a call), allowed (policy allowed one), review (one that ran is shown),
reviewed (what people said of it), signed_in (to the inbox), saved (a rule), revoked,
budget_used, next_try_approved, mode, paused, resumed, away, snoozed, back, agent_paused, agent_resumed,
token_added, token_rotated, token_revoked, passkey_added, passkey_removed, passkey_refused
(its counter did not rise), config, rules, restored, forgot (old rows were deleted),
log_broken (somebody else wrote to the log), log_accepted (a person has seen that), log_key (the
key that signs changed).
Without --all and --kind, allowed, shown, config, rules and forgot are left out.
It reads a stream, which only the daemon's socket and https prove.
Every event is a row of a chain of hashes that the daemon signs: see docs/log.md.")]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    /// Go on with what happens from now on, until interrupted
    #[arg(long, short)]
    follow: bool,
    /// How many of the latest events it begins with
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Events of this kind; repeat it for several
    #[arg(long, value_name = "KIND", value_parser = kinds::known)]
    kind: Vec<String>,
    /// Events of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Events of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Events of this ask; its first letters are enough
    #[arg(long, value_name = "ID")]
    ask: Option<String>,
    /// Also what policy allowed, what cards showed, and which config and rules are in force
    #[arg(long)]
    all: bool,
    /// Print each event as JSON, one a line; the same as `--format jsonl`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How the events are printed
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: LogFormat,
}

#[derive(Debug, clap::Subcommand)]
enum LogCommand {
    /// Write the signed log to a new file; needs the approver's token
    Export(export::ExportArgs),
    /// Check an export, or the daemon's log: nothing changed, missing, moved or cut off
    Verify(verify::VerifyArgs),
    /// Print the signed head of the log, to keep elsewhere as a witness; needs the approver's token
    Head,
    /// Print the public key with which the daemon signs, or replace it; needs the approver's token
    Key(key::KeyArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    /// Columns for people
    Table,
    /// JSON, one event a line
    Jsonl,
    /// Comma-separated values with a line of headings
    Csv,
}

impl LogArgs {
    /// Whether it writes a file, or changes the key.
    #[cfg(test)]
    pub(super) fn decides(&self) -> bool {
        match &self.command {
            Some(LogCommand::Export(_)) => true,
            Some(LogCommand::Key(args)) => args.decides(),
            Some(LogCommand::Verify(_) | LogCommand::Head) | None => false,
        }
    }
}

pub(super) async fn run(context: &Context, mut args: LogArgs) -> Result<Exit> {
    match args.command.take() {
        Some(LogCommand::Export(args)) => return export::run(context, &args).await,
        Some(LogCommand::Verify(args)) => return verify::run(context, args).await,
        Some(LogCommand::Head) => return head::run(context).await,
        Some(LogCommand::Key(args)) => return key::run(context, &args).await,
        None if args.json => args.format = LogFormat::Jsonl,
        None => {}
    }
    if args.format == LogFormat::Csv {
        csv::headings()?;
    }
    let client = token::reader(context)?;
    let mut reader = Reader { client, args, last: None, known: BTreeSet::new() };
    let mut lost = false;
    loop {
        let ended = reader.read().await;
        match ended {
            Ok(()) if !reader.args.follow => return Ok(Exit::Good),
            Ok(()) => {}
            Err(error) if reader.args.follow && reader.last.is_some() && is_lost(&error) => {
                if !std::mem::replace(&mut lost, true) {
                    say::aside(&format!("{error:#}; trying again"));
                }
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the daemon may come back.
fn is_lost(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref::<ClientError>(),
        Some(ClientError::Unreachable { .. } | ClientError::Lost { .. })
    )
}

/// Reads the stream, over and over.
struct Reader {
    client: Client,
    args: LogArgs,
    /// The id to resume after.
    last: Option<i64>,
    /// The latest events that were shown: a resumed stream may repeat some.
    known: BTreeSet<i64>,
}

impl Reader {
    /// Shows events until the stream ends.
    async fn read(&mut self) -> Result<()> {
        let LogArgs { follow, limit, all, .. } = self.args;
        let mut events = match all || !self.args.kind.is_empty() {
            true => self.client.all_events(self.last, limit, follow).await?,
            false => self.client.events(self.last, limit, follow).await?,
        };
        while let Some(happened) = events.next().await? {
            self.last = happened.resume.or(self.last);
            if self.known.insert(happened.event.id) && self.wants(&happened) {
                self.show(&happened)?;
            }
            if self.known.len() > KNOWN {
                self.known.pop_first();
            }
        }
        Ok(())
    }

    fn wants(&self, Happened { kind, event, .. }: &Happened) -> bool {
        let LogArgs { kind: kinds, agent, session, ask, .. } = &self.args;
        let is = |wanted: &Option<String>, name: &str| {
            wanted.as_ref().is_none_or(|wanted| of(event, name) == Some(wanted))
        };
        let id = event.ask.as_ref().map_or("", |ask| ask.id.as_str());
        (kinds.is_empty() || kinds.contains(kind))
            && is(agent, "agent")
            && is(session, "session")
            && ask.as_ref().is_none_or(|ask| !ask.is_empty() && id.starts_with(ask.as_str()))
    }

    fn show(&self, happened: &Happened) -> Result<()> {
        match self.args.format {
            LogFormat::Jsonl => say::json_line(&as_json(happened)),
            LogFormat::Csv => csv::row(happened),
            LogFormat::Table => say::out(&table::draw(&[row(happened)])),
        }
    }
}

fn as_json(Happened { kind, event, .. }: &Happened) -> Value {
    let at = clock::rfc3339(event.at);
    json!({"id": event.id, "at": at, "kind": kind, "data": event.data, "ask": event.ask})
}

fn row(Happened { kind, event, .. }: &Happened) -> Vec<Cell> {
    let id = event.ask.as_ref().map_or("-", |ask| ask.id.as_str());
    vec![
        Cell::plain(&clock::local(event.at)),
        Cell::coloured(colour(kind), &format!("{kind:<9}")),
        Cell::plain(id),
        Cell::plain(of(event, "agent").unwrap_or("-")),
        Cell::plain(&told(kind, event)),
    ]
}

fn colour(kind: &str) -> Colour {
    match kind {
        "answered" => Colour::Green,
        "refused" | "ruled" => Colour::Red,
        "expired" | "paused" | "cancelled" => Colour::Yellow,
        _ => Colour::Plain,
    }
}
