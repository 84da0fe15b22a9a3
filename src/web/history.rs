//! `/v1/history`: closed asks, and one ask in whole.

mod filter;

use super::{
    asks,
    error::ApiError,
    reader::AskReader,
    state::Api,
    view::{reason, view},
};
use axum::{
    extract::{Path, Query, State as Shared, rejection::QueryRejection},
    http::StatusCode,
    response::Response,
};
use countersign_domain::wire::{
    AskRecord, AskView, DeliveryView, HistoryEntry, HistoryPage, HistoryQuery, HistoryVerdict,
};
use countersign_gate::ask::{Answer, Ask, By, Decision, State};
use countersign_store::{Delivery, Found};
use countersign_tokens::clock;
use filter::Filter;

/// Lists closed asks: approvers see all, agents those of their own handle.
pub(super) async fn list(
    Shared(api): Shared<Api>,
    reader: AskReader,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let query = query.map_err(|wrong| unprocessable(format!("the query is wrong: {wrong}")))?.0;
    let filter = Filter::read(query).map_err(unprocessable)?;
    let turn = api.turns.take().await?;
    let look = |ask: &Ask| {
        if !reader.may_read(ask) {
            return None;
        }
        entry(ask, (api.title)(ask)).filter(|entry| filter.fits(ask, entry))
    };
    let page = api.store.history(&filter.range, filter.limit, look).await?;
    let Found { found, scanned, next } = page;
    let next = next.map(|next| next.written());
    Ok(turn.held_by(&HistoryPage { asks: found, scanned, next }))
}

/// One ask in whole, open or closed.
pub(super) async fn get(
    Shared(api): Shared<Api>,
    reader: AskReader,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let turn = api.turns.take().await?;
    let ask = asks::find(&api, &id, &reader).await?;
    let deliveries = api.store.deliveries(&ask.id).await?;
    let answer = ask.answer();
    Ok(turn.held_by(&AskRecord {
        ask: AskView { card: Some((api.card)(&ask)), ..view(&ask) },
        closed: answer.map(|answer| clock::rfc3339(answer.at)),
        critical: ask.body.critical,
        through: answer.and_then(through),
        stored: answer.map(|answer| ask.body.stored(answer)).unwrap_or_default(),
        undone_by: answer.and_then(undone_by),
        deliveries: deliveries.into_iter().map(delivery).collect(),
    }))
}

/// A closed ask in short; `None` for an open one.
fn entry(ask: &Ask, title: String) -> Option<HistoryEntry> {
    let (call, answer) = (&ask.body.call, ask.answer()?);
    Some(HistoryEntry {
        id: ask.id.clone(),
        created: clock::rfc3339(ask.created_at),
        closed: clock::rfc3339(answer.at),
        agent: call.agent.clone(),
        session: call.session.clone(),
        host: call.host.clone(),
        cwd: call.cwd.clone(),
        tool: call.tool.clone(),
        title,
        critical: ask.body.critical,
        verdict: verdict(&ask.state, answer),
        decision: answer.decision,
        scope: answer.scope,
        by: answer.by.clone(),
        with: answer.with.clone(),
        through: through(answer),
        reason: reason(ask, answer),
        note: answer.reason.clone().filter(|_| matches!(answer.by, By::Person { .. })),
        stored: ask.body.stored(answer),
        undone_by: undone_by(answer),
    })
}

fn verdict(state: &State, answer: &Answer) -> HistoryVerdict {
    match (state, answer.decision) {
        (State::Cancelled(_), _) => HistoryVerdict::Cancelled,
        (_, Decision::Approve | Decision::Answer | Decision::Edit) => HistoryVerdict::Allow,
        (State::Expired(_), Decision::Deny) => HistoryVerdict::Expired,
        (State::Open | State::Answered(_), Decision::Deny) => HistoryVerdict::Deny,
    }
}

fn through(answer: &Answer) -> Option<String> {
    match &answer.by {
        By::Person { platform, .. } => Some(platform.clone()),
        By::Policy { .. } | By::Timeout | By::NoApprover | By::Caller => None,
    }
}

fn undone_by(answer: &Answer) -> Option<By> {
    answer.stored.undone.as_ref().map(|undone| undone.by.clone())
}

fn delivery(delivery: Delivery) -> DeliveryView {
    let Delivery { adapter, target, shown, held, gone } = delivery;
    DeliveryView { adapter, target, shown, held, gone }
}

fn unprocessable(sentence: String) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
}
