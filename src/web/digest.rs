//! `GET /v1/digest`: what was asked in a time, and which rules would have saved asks.

use crate::{Api, error::ApiError, handle::Handle, rules};
use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use countersign_domain::wire::{
    CoveredCallView, DigestKind, DigestPerson, DigestQuery, DigestReply, DigestSuggestion,
    SuggestedRule,
};
use countersign_gate::digests::{
    self, AskDigest, AskKind, AskSummary, DigestScope, RuleSuggestion,
};
use countersign_port::ReplyPiece;
use countersign_tokens::clock;

const WEEK_MS: i64 = 7 * 86_400_000;

// SECURITY: for approvers: it tells what every agent asked, and what a rule would let through.
pub(super) async fn get(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    query: Result<Query<DigestQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    if !handle.sees_all() {
        return Err(ApiError::forbidden("a digest needs the approver's token"));
    }
    let until = clock::now_ms();
    let since = match query?.0.since {
        None => until - WEEK_MS,
        Some(text) => clock::from_rfc3339(&text).ok_or_else(|| {
            let why = "`since` is not a valid time; use RFC 3339, such as 2026-11-22T18:00:00Z";
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, why)
        })?,
    };
    let turn = api.turns.take().await?;
    let scope = DigestScope { since, until, tells: &|_| true, title: api.title };
    let digest = api.gate.digest(scope).await?;
    Ok(turn.held_by(&view(digest)))
}

fn view(digest: AskDigest) -> DigestReply {
    let lines = digests::lines(&digest)
        .iter()
        .map(|line| line.iter().map(ReplyPiece::plain).collect())
        .collect();
    let AskDigest { since, until, is_complete, summary, kinds } = digest;
    let AskSummary { asks, approved, answered, denied, timed_out, by_rule, cancelled, .. } =
        summary;
    let person = |(name, answers)| DigestPerson { name, answers };
    DigestReply {
        since: clock::rfc3339(since),
        until: clock::rfc3339(until),
        complete: is_complete,
        asks,
        approved,
        answered,
        denied,
        timed_out,
        by_rule,
        cancelled,
        median_ms: summary.median_ms,
        p90_ms: summary.p90_ms,
        people: summary.people.into_iter().map(person).collect(),
        kinds: kinds.into_iter().map(kind).collect(),
        lines,
    }
}

fn kind(kind: AskKind) -> DigestKind {
    let AskKind { rule, calls, asks, saving } = kind;
    let (suggestion, why_not) = match saving {
        Ok(found) => (suggestion(found), None),
        Err(why) => (None, Some(why)),
    };
    DigestKind { rule, calls, asks, suggestion, why_not }
}

fn suggestion(found: RuleSuggestion) -> Option<DigestSuggestion> {
    let RuleSuggestion { rules, is_line, saves, covers } = found;
    let covers = covers.into_iter().map(|it| CoveredCallView {
        title: it.title,
        asks: it.asks,
        approved: it.approved,
    });
    let mut rules = rules.into_iter().map(|rule| SuggestedRule {
        line: is_line.then(|| rules::line(&rule)),
        tool: rule.tool,
        pattern: rule.pattern,
    });
    let SuggestedRule { tool, pattern, line } = rules.next()?;
    let (also, covers) = (rules.collect(), covers.collect());
    Some(DigestSuggestion { tool, pattern, line, also, saves, covers })
}
