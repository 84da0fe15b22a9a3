//! `countersign history`: what was asked, and what became of it; one ask in whole.

use super::{
    Context, complete,
    say::{self, Cell, Colour},
    when::{past, when, when_in_full},
};
use anyhow::{Context as _, Result};
use countersign_bridge::card::terminal;
use countersign_client::Client;
use countersign_domain::{
    Decision, Scope, deciders,
    wire::{
        AskRecord, AskState, DeliveryView, HistoryEntry, HistoryPage, HistoryQuery, HistoryVerdict,
    },
};
use std::path::Path;

/// The largest page of the API.
const PAGE: usize = 200;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign history --since 2h --verdict deny
  countersign history --folder . --text 'git push'
  countersign history k3f9                  one in whole: its card, who, when and where it was shown

With the approver's token it shows all asks, without it those that came in over the socket or with
the agents' token.")]
pub(super) struct HistoryArgs {
    /// One ask in whole, open or closed; its first letters are enough
    #[arg(value_name = "ID", conflicts_with_all = FILTERS, add = complete::all_asks())]
    ask: Option<String>,
    /// Asks of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Asks of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Asks from this folder and those in it; a name alone is the last part of one
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// Asks of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// What this person decided: a part of the name, or the whole id
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// How it ended: allow, deny, expired or cancelled
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<HistoryVerdict>,
    /// Asks with this in a rule that asked, or that was stored
    #[arg(long, value_name = "TEXT")]
    rule: Option<String>,
    /// Asks with this in the command, another argument, a reason or a note
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Closed since then: 30m, 2h or 7d ago, or a date
    #[arg(long, value_name = "TIME", value_parser = past)]
    since: Option<String>,
    /// Closed until then
    #[arg(long, value_name = "TIME", value_parser = past)]
    until: Option<String>,
    /// How many at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
    )]
    limit: u32,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// The options that say which asks are listed.
const FILTERS: [&str; 10] =
    ["agent", "session", "folder", "tool", "person", "verdict", "rule", "text", "since", "until"];

pub(super) async fn run(context: &Context, args: HistoryArgs) -> Result<()> {
    let client = context.reader()?;
    if let Some(id) = &args.ask {
        return show_record(&client, id, args.json).await;
    }
    let json = args.json;
    let asks = closed(&client, args).await?;
    say::list("asks", &asks, row, "Nothing was found.", json)
}

/// The asks that are looked for, latest first.
async fn closed(client: &Client, args: HistoryArgs) -> Result<Vec<HistoryEntry>> {
    let most = usize::try_from(args.limit)?;
    let mut query = query(args)?;
    let mut asks: Vec<HistoryEntry> = Vec::new();
    loop {
        query.limit = Some((most - asks.len()).min(PAGE).to_string());
        let HistoryPage { asks: page, next, .. } = client.history(&query).await?;
        asks.extend(page);
        query.before = next;
        if query.before.is_none() || asks.len() >= most {
            return Ok(asks);
        }
    }
}

fn query(args: HistoryArgs) -> Result<HistoryQuery> {
    let HistoryArgs { agent, session, tool, person, rule, text, since, until, .. } = args;
    let verdict = args.verdict.map(|verdict| verdict.word().to_owned());
    let folder = args.folder.map(|folder| place(&folder)).transpose()?;
    let query = HistoryQuery { agent, session, folder, tool, person, ..HistoryQuery::default() };
    Ok(HistoryQuery { verdict, rule, text, since, until, ..query })
}

/// A folder as agents name it: one that is given from here, such as `.`, by its whole path.
fn place(folder: &str) -> Result<String> {
    if folder.starts_with('.') {
        Ok(Path::new(folder).canonicalize()?.display().to_string())
    } else {
        Ok(folder.to_owned())
    }
}

fn row(ask: &HistoryEntry) -> Vec<Cell> {
    let folder = ask.cwd.as_deref().and_then(|cwd| Path::new(cwd).file_name()?.to_str());
    let origin = match folder {
        Some(folder) => format!("{} · {folder}", ask.agent),
        None => ask.agent.clone(),
    };
    vec![
        Cell::plain(&ask.id),
        Cell::plain(&when(&ask.closed)),
        Cell::coloured(colour(ask), outcome(ask)),
        Cell::plain(&deciders(&ask.by, &ask.with)),
        Cell::plain(&origin),
        Cell::plain(&ask.title),
    ]
}

/// How it ended, in a word.
fn outcome(ask: &HistoryEntry) -> &'static str {
    if ask.overruled.is_some() {
        return "allow, blocked";
    }
    match (ask.verdict, ask.decision) {
        (HistoryVerdict::Allow, Decision::Edit) => "edited",
        (HistoryVerdict::Allow, Decision::Answer) => "answered",
        (HistoryVerdict::Allow, _) if ask.scope.is_some_and(lasts) => "always",
        (verdict, _) => verdict.word(),
    }
}

fn lasts(scope: Scope) -> bool {
    matches!(scope, Scope::Always | Scope::Exact | Scope::Prefix)
}

fn colour(ask: &HistoryEntry) -> Colour {
    match ask.verdict {
        HistoryVerdict::Allow if ask.overruled.is_some() => Colour::Red,
        HistoryVerdict::Allow => Colour::Green,
        HistoryVerdict::Deny => Colour::Red,
        HistoryVerdict::Expired => Colour::Yellow,
        HistoryVerdict::Cancelled => Colour::Plain,
    }
}

async fn show_record(client: &Client, id: &str, json: bool) -> Result<()> {
    let record = client.record(id).await?;
    if json {
        return say::json(&record);
    }
    let card = terminal::of(record.ask.clone());
    let card = card.context("the daemon is of another version: it sends no cards")?;
    say::lines(&format!("{}\n\n{}", terminal::draw(&card), lines(&record).join("\n")))
}

/// What is known of the ask beside its card.
fn lines(record: &AskRecord) -> Vec<String> {
    let ask = &record.ask;
    let mut lines = vec![
        line("ask", &ask.id),
        line("session", &format!("{} of {}", ask.call.session, ask.call.agent)),
        line("asked", &when_in_full(&ask.created)),
        line("why", &ask.why),
    ];
    if let Some(closed) = &record.closed {
        let by = ask.answer.as_ref().map(|it| format!(" by {}", deciders(&it.by, &it.with)));
        let text = format!("{}{}", when_in_full(closed), by.unwrap_or_default());
        lines.push(line(ended(ask.state), &text));
    }
    lines.extend(record.through.as_ref().map(|through| line("through", through)));
    lines.extend(ask.reason.as_ref().map(|reason| line("result", reason)));
    lines.extend(record.stored.iter().map(|rule| line("stored", rule)));
    lines.extend(record.undone_by.as_ref().map(|by| line("undone", &format!("by {by}"))));
    lines.extend(record.deliveries.iter().map(delivery));
    lines
}

fn ended(state: AskState) -> &'static str {
    match state {
        AskState::Open => "open",
        AskState::Answered => "answered",
        AskState::Expired => "expired",
        AskState::Cancelled => "cancelled",
    }
}

fn delivery(delivery: &DeliveryView) -> String {
    let DeliveryView { adapter, target, shown, held, gone } = delivery;
    let place = if adapter == target { adapter.clone() } else { format!("{adapter} {target}") };
    let name = if *shown { "shown" } else { "not shown" };
    match gone.as_ref().or(held.as_ref()) {
        Some(why) => line(name, &format!("{place}: {why}")),
        None => line(name, &place),
    }
}

fn line(name: &str, text: &str) -> String {
    format!("{name:<11}{}", say::literal(text))
}
