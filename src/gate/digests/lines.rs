//! A digest as lines that fit a phone. Pure.

use super::{
    kinds::{AskDigest, AskKind},
    summary::AskSummary,
};
use countersign_port::ReplyPiece;
use countersign_port::{brief, line};
use countersign_tokens::clock;

/// How many people and kinds are named.
const PEOPLE: usize = 5;
const KINDS: usize = 5;
/// How much of a text is shown; characters.
const SHORT: usize = 60;

/// The digest in lines.
// SECURITY: what agents and people wrote is literal, and short.
#[must_use]
pub fn lines(digest: &AskDigest) -> Vec<Vec<ReplyPiece>> {
    let AskDigest { summary, kinds, .. } = digest;
    let span = clock::span(digest.until.saturating_sub(digest.since));
    let mut lines = vec![words(match summary.asks {
        0 => format!("Digest of {span}: nothing was asked."),
        1 => format!("Digest of {span}: 1 request."),
        many => format!("Digest of {span}: {many} requests."),
    })];
    if summary.asks == 0 {
        return lines;
    }
    if !digest.is_complete {
        lines.push(words("These are the latest; there were more."));
    }
    lines.push(words(ends(summary)));
    if let (Some(median), Some(p90)) = (summary.median_ms, summary.p90_ms) {
        let (median, p90) = (clock::brief_span(median), clock::brief_span(p90));
        let fast = format!("People answered half within {median} and 9 of 10 within {p90}.");
        lines.push(words(fast));
    }
    if !summary.people.is_empty() {
        lines.push(people(summary));
    }
    let most = kinds.iter().take(KINDS).filter(|kind| kind.asks > 1);
    let most: Vec<_> = most.flat_map(kind).collect();
    if !most.is_empty() {
        lines.push(words("Asked most:"));
        lines.extend(most);
    }
    if kinds.iter().any(|kind| kind.saving.is_ok()) {
        lines.push(words("`countersign suggest` says which calls such a rule covers."));
    }
    lines
}

/// `40 approved, 2 denied, 1 not answered in time.`
fn ends(summary: &AskSummary) -> String {
    let counts = [
        (summary.approved, "approved"),
        (summary.answered, "answered"),
        (summary.denied, "denied"),
        (summary.timed_out, "not answered in time"),
        (summary.by_rule, "covered by a rule meanwhile"),
        (summary.cancelled, "cancelled"),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some.map(|(count, how)| format!("{count} {how}")).collect();
    format!("{}.", some.join(", "))
}

/// `Answers: Ana 30, Ben 8.`
fn people(summary: &AskSummary) -> Vec<ReplyPiece> {
    let mut pieces = vec![ReplyPiece::Words("Answers: ".to_owned())];
    for (at, (name, count)) in summary.people.iter().take(PEOPLE).enumerate() {
        let before = if at == 0 { "" } else { ", " };
        pieces.push(ReplyPiece::Words(before.to_owned()));
        pieces.push(literal(name));
        pieces.push(ReplyPiece::Words(format!(" {count}")));
    }
    let end = match summary.people.len().checked_sub(PEOPLE) {
        None | Some(0) => ".".to_owned(),
        Some(more) => format!(" and {more} more."),
    };
    pieces.push(ReplyPiece::Words(end));
    pieces
}

fn kind(kind: &AskKind) -> Vec<Vec<ReplyPiece>> {
    let mut lines =
        vec![vec![ReplyPiece::Words(format!("{} × ", kind.asks)), literal(&kind.calls)]];
    if let Ok(found) = &kind.saving {
        let rules: Vec<String> = found.rules.iter().map(ToString::to_string).collect();
        let rule = &rules.join(" and ");
        let rule = if *rule == kind.calls {
            vec![]
        } else {
            vec![ReplyPiece::Words(": ".to_owned()), literal(rule)]
        };
        let what = match rules.len() {
            1 => "   a rule would have saved ".to_owned(),
            many => format!("   {many} rules would have saved "),
        };
        let mut pieces = vec![ReplyPiece::Words(what)];
        pieces.push(ReplyPiece::Words(found.saves.to_string()));
        pieces.extend(rule);
        lines.push(pieces);
    }
    lines
}

fn words(text: impl Into<String>) -> Vec<ReplyPiece> {
    vec![ReplyPiece::Words(text.into())]
}

fn literal(text: &str) -> ReplyPiece {
    ReplyPiece::Literal(brief(&line(text), SHORT))
}
