//! `countersign log`: what happened, event by event.

pub(super) mod proof;

use super::{
    Context, Exit, good,
    say::{self, Cell, Colour},
};
use anyhow::Result;
use countersign_client::{Client, ClientError, Happened};
use countersign_domain::wire::{AskView, EventView};
use countersign_port::brief;
use countersign_tokens::clock;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// The pause before a lost stream is followed again.
const PAUSE: Duration = Duration::from_secs(1);
/// How many ids of events are known, so that none is shown twice.
const KNOWN: usize = 4_096;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Kinds of events: asked, shown, voted, answered, expired, cancelled, postponed, parked (its run
waits without a process), undone, overtaken (answered at the agent), overruled (blocked there although approved), reminded, escalated,
handed_over (to another target), undelivered,
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
    #[arg(long, value_name = "KIND", value_parser = known_kind)]
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
    Export(proof::ExportArgs),
    /// Check an export, or the daemon's log: nothing changed, missing, moved or cut off
    Verify(proof::VerifyArgs),
    /// Print the signed head of the log, to keep elsewhere as a witness; needs the approver's token
    Head,
    /// Print the public key with which the daemon signs, or replace it; needs the approver's token
    Key(proof::KeyArgs),
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
        Some(LogCommand::Export(args)) => return proof::export(context, &args).await.map(good),
        Some(LogCommand::Verify(args)) => return proof::verify(context, args).await,
        Some(LogCommand::Head) => return proof::head(context).await.map(good),
        Some(LogCommand::Key(args)) => return proof::key(context, &args).await.map(good),
        None if args.json => args.format = LogFormat::Jsonl,
        None => {}
    }
    if args.format == LogFormat::Csv {
        csv_headings()?;
    }
    let client = context.reader()?;
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
        let all = all || !self.args.kind.is_empty();
        let mut events = self.client.events(self.last, limit, follow, all).await?;
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
            LogFormat::Csv => csv_row(happened),
            LogFormat::Table => say::lines(&say::table(&[row(happened)])),
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
        Cell::plain(&in_words(kind, event)),
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

/// All of them.
const KINDS: [&str; 48] = [
    "asked",
    "shown",
    "voted",
    "answered",
    "expired",
    "cancelled",
    "postponed",
    "parked",
    "undone",
    "overtaken",
    "overruled",
    "reminded",
    "escalated",
    "handed_over",
    "undelivered",
    "started",
    "finished",
    "refused",
    "ruled",
    "allowed",
    "review",
    "reviewed",
    "signed_in",
    "saved",
    "revoked",
    "budget_used",
    "next_try_approved",
    "mode",
    "paused",
    "resumed",
    "away",
    "snoozed",
    "back",
    "agent_paused",
    "agent_resumed",
    "token_added",
    "token_rotated",
    "token_revoked",
    "passkey_added",
    "passkey_removed",
    "passkey_refused",
    "config",
    "rules",
    "restored",
    "forgot",
    "log_broken",
    "log_accepted",
    "log_key",
];

/// A kind as it is written after `--kind`. One that does not exist would match nothing, as if
/// nothing had happened.
fn known_kind(text: &str) -> Result<String, String> {
    if KINDS.contains(&text) {
        return Ok(text.to_owned());
    }
    let likeness = |kind: &&str| strsim::jaro_winkler(text, kind);
    let near = KINDS.iter().copied().filter(|kind| likeness(kind) > 0.75);
    let near = near.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Err(match near {
        Some(near) => format!("no event is of this kind; did you mean `{near}`?"),
        None => "no event is of this kind; `countersign log --help` lists them".to_owned(),
    })
}

/// How much of a command a line shows, in characters.
const COMMAND: usize = 80;

/// The agent or session of an event: its ask's, or its own.
fn of<'e>(event: &'e EventView, name: &str) -> Option<&'e str> {
    match (&event.ask, name) {
        (Some(ask), "agent") => Some(&ask.call.agent),
        (Some(ask), _) => Some(&ask.call.session),
        (None, name) => event.data.get(name)?.as_str(),
    }
}

/// What happened, on the rest of the line.
fn in_words(kind: &str, event: &EventView) -> String {
    let text = |name: &str| event.data.get(name).and_then(Value::as_str);
    let by = event.data.get("by").and_then(|by| by.get("name")?.as_str());
    let and_by = by.map(|by| format!(", by {by}")).unwrap_or_default();
    match (kind, &event.ask) {
        ("refused", _) => {
            let name = text("name").unwrap_or("?");
            let place = text("platform").unwrap_or("?");
            format!("{name} ({place}) may not answer")
        }
        ("answered" | "expired" | "cancelled", Some(ask)) => {
            let reason = ask.reason.clone().unwrap_or_default();
            format!("{reason}: {}", command(ask))
        }
        ("postponed" | "parked" | "asked", Some(ask)) => command(ask),
        ("ruled" | "allowed", _) => {
            let tool = text("tool").unwrap_or("?");
            let why = text("reason").unwrap_or_default();
            let verdict = if kind == "allowed" { kind } else { "denied" };
            format!("{verdict} {tool}: {why}")
        }
        ("revoked" | "saved", _) => match text("rule") {
            Some(rule) => format!("{rule}{and_by}"),
            None => String::new(),
        },
        ("passkey_added" | "passkey_removed" | "passkey_refused", _) => {
            let passkey = |name: &str| event.data.get("passkey")?.get(name)?.as_str();
            let name = passkey("name").unwrap_or("?");
            let owner = passkey("owner").unwrap_or("?");
            format!("{name} of {owner}{and_by}")
        }
        ("log_key", _) => {
            let key: String = text("key").unwrap_or("?").chars().take(16).collect();
            format!("{}: {key}… signs{and_by}", text("how").unwrap_or("?"))
        }
        ("log_broken" | "log_accepted", _) => format!("{}{and_by}", text("says").unwrap_or("?")),
        ("mode", _) => format!("is in the mode {} now", text("mode").unwrap_or("?")),
        (_, Some(ask)) => match by {
            Some(by) => format!("by {by}: {}", command(ask)),
            None => command(ask),
        },
        (_, None) => by.map(|by| format!("by {by}")).unwrap_or_default(),
    }
}

/// What the ask is about, on part of a line.
fn command(ask: &AskView) -> String {
    let call = &ask.call;
    let question = call.questions.first().map(|question| question.question.clone());
    let args = || match call.args.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => format!("{} {}", call.tool, call.args),
    };
    brief(&say::literal(&question.unwrap_or_else(args)), COMMAND)
}

const HEADINGS: [&str; 7] = ["id", "at", "kind", "ask", "agent", "session", "what"];

fn csv_headings() -> Result<()> {
    say::out(&HEADINGS.join(","))
}

fn csv_row(happened: &Happened) -> Result<()> {
    let Happened { kind, event, .. } = happened;
    let ask = event.ask.as_ref().map_or("", |ask| ask.id.as_str());
    let [agent, session] = ["agent", "session"].map(|name| of(event, name).unwrap_or_default());
    let id = event.id.to_string();
    let at = clock::rfc3339(event.at);
    let what = in_words(kind, event);
    let values = [&id, &at, kind, ask, agent, session, &what].map(csv_value);
    say::out(&values.join(","))
}

/// A csv_value, in quotes where it needs them.
// SECURITY: a spreadsheet runs what begins like a formula, and agents choose these words.
fn csv_value(text: &str) -> String {
    let text = say::literal(text);
    let formula = text.starts_with(['=', '+', '-', '@', '\t']);
    let text = if formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_that_does_not_exist_is_refused_with_the_one_that_was_meant() {
        assert_eq!(known_kind("answered"), Ok("answered".to_owned()));
        let near = "no event is of this kind; did you mean `answered`?";
        assert_eq!(known_kind("anwsered"), Err(near.to_owned()));
        let none = "no event is of this kind; `countersign log --help` lists them";
        assert_eq!(known_kind("xyz"), Err(none.to_owned()));
    }

    #[test]
    fn the_documentation_names_every_kind_and_no_other() {
        let page = include_str!("../../docs/log.md");
        let table = page.split("| kind | what happened |").nth(1).unwrap_or_default();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        let mut named: Vec<&str> =
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let mut known = KINDS.to_vec();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    fn happened(kind: &str, data: Value) -> String {
        in_words(kind, &EventView { id: 1, at: 0, data, ask: None })
    }

    #[test]
    fn an_event_without_an_ask_says_what_happened_in_its_own_words() {
        let ana = json!({"kind": "person", "platform": "telegram", "id": "4", "name": "Ana"});
        let cases = [
            (
                "ruled",
                json!({"tool": "Bash", "reason": "a rule denies it"}),
                "denied Bash: a rule denies it",
            ),
            ("revoked", json!({"rule": "shell: ls *", "by": ana}), "shell: ls *, by Ana"),
            ("revoked", json!({"rule": "shell: ls *", "by": null}), "shell: ls *"),
            ("saved", json!({"rule": "shell: ls *", "by": ana}), "shell: ls *, by Ana"),
            ("mode", json!({"mode": "yolo"}), "is in the mode yolo now"),
            (
                "log_key",
                json!({"key": "0123456789abcdef01", "how": "rotated", "by": ana}),
                "rotated: 0123456789abcdef… signs, by Ana",
            ),
            ("log_key", json!({"key": "0", "how": "unexplained"}), "unexplained: 0… signs"),
            ("paused", json!({"how": "hold", "by": ana}), "by Ana"),
            ("signed_in", json!({"by": ana}), "by Ana"),
            (
                "passkey_removed",
                json!({"by": ana, "passkey": {"id": "1", "name": "a phone", "owner": "Ben"}}),
                "a phone of Ben, by Ana",
            ),
            ("passkey_refused", json!({"passkey": {"name": "x", "owner": "Ben"}}), "x of Ben"),
            (
                "refused",
                json!({"platform": "discord", "id": "7", "name": "Eve"}),
                "Eve (discord) may not answer",
            ),
            ("unheard_of", json!({}), ""),
        ];
        for (kind, data, wanted) in cases {
            assert_eq!(happened(kind, data), wanted, "{kind}");
        }
    }

    #[test]
    fn a_value_ends_where_it_should_and_runs_nothing() {
        let cases = [
            ("ls", "ls"),
            ("a, b", "\"a, b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("-1,2", "\"'-1,2\""),
        ];
        for (text, wanted) in cases {
            assert_eq!(csv_value(text), wanted, "{text}");
        }
    }
}
