//! `countersign digest` and `countersign suggest`: what was asked, and which rules would have saved
//! asks.

use super::{Context, say, when::past};
use anyhow::Result;
use countersign_domain::wire::{CoveredCallView, DigestKind, DigestReply, DigestSuggestion};
use serde_json::json;

/// How many covered calls are listed for each rule.
const LISTED: usize = 10;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign digest --since 1d
  countersign digest --json

It changes nothing. `/digest` in a chat says the same, and [digest] in the config sends it daily or
weekly.")]
pub(super) struct DigestArgs {
    #[command(flatten)]
    time: DigestSince,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign suggest
  countersign suggest --since 30d --json

It changes nothing: store a rule by pressing Always on the next card, or by adding the line to the
rules file. No rule is suggested for critical calls, against a deny or an answer rule, or where it
would cover a call that people denied; none is wider than Always.")]
pub(super) struct SuggestArgs {
    #[command(flatten)]
    time: DigestSince,
}

#[derive(Debug, clap::Args)]
struct DigestSince {
    /// Of asks that were closed since then: 2h or 30d ago, or a date [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = past)]
    since: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn digest(context: &Context, args: DigestArgs) -> Result<()> {
    let reply = read(context, &args.time).await?;
    if args.time.json {
        say::json(&reply)
    } else {
        say::literal_lines(reply.lines.iter().map(String::as_str))
    }
}

pub(super) async fn suggest(context: &Context, args: SuggestArgs) -> Result<()> {
    let reply = read(context, &args.time).await?;
    if args.time.json {
        let DigestReply { since, until, complete, asks, kinds, .. } = reply;
        let all = json!({"since": since, "until": until, "complete": complete, "asks": asks,
            "kinds": kinds});
        say::json(&all)
    } else {
        say::lines(&suggestions(&reply))
    }
}

async fn read(context: &Context, time: &DigestSince) -> Result<DigestReply> {
    Ok(context.approver()?.digest(time.since.as_deref()).await?)
}

fn suggestions(reply: &DigestReply) -> String {
    let mut lines = Vec::new();
    if !reply.complete {
        lines.push("There were more asks: these are the latest.".to_owned());
    }
    let found = |kind: &&DigestKind| kind.suggestion.is_some();
    if reply.asks == 0 {
        lines.push("Nothing was asked in this time.".to_owned());
    } else if !reply.kinds.iter().any(|kind| found(&kind)) {
        lines.push("There is no rule to suggest.".to_owned());
    }
    for kind in &reply.kinds {
        let asked = say::counted(kind.asks, "ask");
        let by = kind.rule.as_ref().map(|rule| format!(", by {rule}")).unwrap_or_default();
        let released = match kind.overruled {
            0 => String::new(),
            some => format!(", {some} released"),
        };
        lines.push(say::literal(&format!("{asked}: {}{by}{released}", kind.calls)));
        match &kind.suggestion {
            Some(suggestion) => lines.extend(suggested(suggestion)),
            None => lines.extend(kind.why_not.iter().map(|why| format!("  {}", say::literal(why)))),
        }
    }
    lines.join("\n")
}

fn suggested(found: &DigestSuggestion) -> Vec<String> {
    let saves = say::counted(found.saves, "ask");
    let mut lines = Vec::new();
    match &found.line {
        Some(line) => {
            let these = if found.also.is_empty() { "This line" } else { "These lines" };
            lines.push(format!("  {these} of the rules file would have saved {saves}:"));
            let also = found.also.iter().filter_map(|rule| rule.line.as_ref());
            let all = std::iter::once(line).chain(also);
            lines.extend(all.map(|line| say::literal(&format!("    {line}"))));
        }
        None => {
            let rule = |tool: &str, pattern: &str| format!("{tool}: {pattern}");
            let also = found.also.iter().map(|it| rule(&it.tool, &it.pattern));
            let all = std::iter::once(rule(&found.tool, &found.pattern)).chain(also);
            let all = all.collect::<Vec<_>>().join(" and ");
            lines.push(say::literal(&format!("  {all} would have saved {saves}.")));
            lines.push("  Press Always on the next card of such a call.".to_owned());
        }
    }
    lines.push("  It covers what was asked before:".to_owned());
    let call = |it: &CoveredCallView| {
        let approved = format!("{} of {} approved", it.approved, it.asks);
        say::literal(&format!("    {} ({approved})", it.title))
    };
    lines.extend(found.covers.iter().take(LISTED).map(call));
    if let Some(more @ 1..) = found.covers.len().checked_sub(LISTED) {
        lines.push(format!("    … and {more} more; --json lists them all."));
    }
    lines
}
