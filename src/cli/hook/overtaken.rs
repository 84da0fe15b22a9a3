//! Answers that did not count, because somebody answered at the agent itself.

use countersign_agents::HookEvent;
use countersign_client::{Client, ClientError};
use countersign_domain::wire::{AskView, CancelReason, HistoryQuery};
use countersign_tokens::clock;

/// How far back it is looked, in milliseconds.
const SPAN_MS: i64 = 3_600_000;
/// How many asks are looked at.
const MOST: u32 = 20;

/// Reports the denial of a call that ran.
pub(super) async fn denial(
    client: &Client,
    agent: &str,
    ran: &HookEvent,
) -> Result<(), ClientError> {
    let denied = latest(client, agent, ran, (Some("deny"), hour_ago())).await?;
    let Some(denied) = denied else { return Ok(()) };
    // The same call may have been approved later, and ran because of that.
    let closed = denied.answer.map_or(denied.created, |answer| answer.at);
    match latest(client, agent, ran, (Some("allow"), closed)).await? {
        Some(_) => Ok(()),
        None => client.cancel(&denied.id, CancelReason::AnsweredElsewhere).await,
    }
}

/// Reports the answer, whatever it was, that the agent did not take for this call.
pub(super) async fn answer(
    client: &Client,
    agent: &str,
    untaken: &HookEvent,
) -> Result<(), ClientError> {
    match latest(client, agent, untaken, (None, hour_ago())).await? {
        Some(ask) => client.cancel(&ask.id, CancelReason::AnsweredElsewhere).await,
        None => Ok(()),
    }
}

fn hour_ago() -> String {
    clock::rfc3339(clock::now_ms().saturating_sub(SPAN_MS))
}

/// The latest ask for the call of this event that was closed since a time, with this verdict.
async fn latest(
    client: &Client,
    agent: &str,
    of: &HookEvent,
    (verdict, since): (Option<&str>, String),
) -> Result<Option<AskView>, ClientError> {
    let Some((session, tool)) = of.names() else { return Ok(None) };
    let query = HistoryQuery {
        session: Some(session.to_owned()),
        tool: Some(tool.to_owned()),
        verdict: verdict.map(str::to_owned),
        since: Some(since),
        limit: Some(MOST.to_string()),
        ..HistoryQuery::default()
    };
    for entry in client.history(&query).await?.asks {
        let ask = client.ask(&entry.id).await?;
        if !of.closes(agent, std::slice::from_ref(&ask)).is_empty() {
            return Ok(Some(ask));
        }
    }
    Ok(None)
}
