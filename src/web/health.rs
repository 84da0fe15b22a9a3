//! `/healthz`, `/readyz`: the daemon's health; `/v1/reload`.

use crate::{
    Api,
    error::ApiError,
    request::{Answering, JsonReply},
    sessions,
};
use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_domain::wire::{
    ReadyAdapter, ReadyLate, ReadyLeader, ReadyLogKey, ReadyReply, ReadyState, ReadyWaiting,
    ReloadReply, Up,
};
use countersign_port::{NamedAdapter, Receiving};
use countersign_store::{LateCards, Leader, SHOWN_WITHIN_MS, StoreError, Trouble};
use countersign_tokens::clock;
use std::collections::BTreeMap;

/// For how long it is noted that a session has no thread; milliseconds.
const NOTED_MS: i64 = 60 * 60 * 1000;

/// Replies while the process runs.
// Without the store: a supervisor that restarts us would not bring a lost database back.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Returns 200 if the daemon takes asks and receives from every chat that it leads; the body shows
/// the state and the leader of each adapter.
pub(super) async fn readyz(api: Api) -> Response {
    let trouble = api.store.probe().await;
    // A store that failed is not queried again: each query could take its whole timeout, and a load
    // balancer waits for this reply.
    let (leaders, clock_ahead, paused) = match trouble {
        None => {
            let paused = api.store.pause().await.ok().flatten();
            (leaders(&api).await, api.store.clock_ahead().await.ok(), paused)
        }
        Some(_) => Default::default(),
    };
    let (waiting, late, paused_agents) = match trouble {
        None => {
            let paused = api.store.paused_agents().await.unwrap_or_default();
            (waiting(&api).await.ok(), late(&api).await, paused)
        }
        Some(_) => Default::default(),
    };
    let (mut notes, log) = match trouble {
        None => (notes(&api).await.unwrap_or_default(), api.store.log_troubles().await),
        Some(_) => Default::default(),
    };
    let stopping = api.gate.is_stopping();
    let problems = (api.notices)(&api.adapters.borrow());
    notes.extend(api.gate.choices().cautions());
    let good = trouble.is_none() && !stopping && problems.is_empty();
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let up = ReadyState::Up(Up::Up);
    let broken = |it: Trouble| ReadyState::Down { problem: it.says, fix: Some(it.fix) };
    let body = ReadyReply {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: trouble.map_or(up.clone(), broken),
        rules: api
            .gate
            .choices()
            .policy
            .problem()
            .map_or(up, |problem| ReadyState::Down { problem, fix: None }),
        adapters: adapters(&api, &leaders),
        problems,
        paused: paused.as_ref().map(sessions::pause_view),
        paused_agents,
        late,
        notes,
        log_key: api.log.problem().map(|it| ReadyLogKey { problem: it.says, fix: it.fix }),
        log: log.into_iter().map(|it| ReadyLogKey { problem: it.says, fix: it.fix }).collect(),
        waiting,
        config: api.config.borrow().clone(),
        watches: api.codex.borrow().then(|| "codex".to_owned()).into_iter().collect(),
        daemon: api.gate.daemon().to_owned(),
        shared: api.store.is_shared(),
        clock_ahead_ms: clock_ahead,
        stopping,
        inbox: api.inbox,
    };
    (status, Json(body)).into_response()
}

/// What waits for an answer.
async fn waiting(api: &Api) -> Result<ReadyWaiting, StoreError> {
    let asks = u64::try_from(api.store.count_open().await?).unwrap_or_default();
    let oldest = api.store.oldest_open().await?.map(clock::rfc3339);
    Ok(ReadyWaiting { asks, oldest, callers: api.gate.callers() })
}

/// Where sessions have no thread that should have one.
async fn notes(api: &Api) -> Result<Vec<String>, StoreError> {
    let missing = api.store.missing_threads(clock::now_ms() - NOTED_MS).await?;
    let note = |(adapter, why)| format!("{adapter}: sessions without a thread: {why}");
    Ok(missing.into_iter().map(note).collect())
}

/// The holders of the leases; empty if the store cannot be read.
async fn leaders(api: &Api) -> BTreeMap<String, Leader> {
    let leaders = api.store.leaders().await.unwrap_or_default();
    leaders.into_iter().map(|leader| (leader.lease.clone(), leader)).collect()
}

/// The state of each adapter; `standby` if another daemon leads it.
fn adapters(api: &Api, leaders: &BTreeMap<String, Leader>) -> BTreeMap<String, ReadyAdapter> {
    let leases = api.leases.borrow();
    let one = |adapter: &NamedAdapter| {
        let leader = leases.get(adapter.name).and_then(|lease| leaders.get(lease));
        let elsewhere = leader.is_some_and(|leader| leader.holder != api.gate.daemon());
        let (state, detail, since) = match (elsewhere, adapter.signals().receiving()) {
            (true, _) => ("standby", None, None),
            (false, Receiving::Starting) => ("starting", None, None),
            (false, Receiving::Listening) => ("up", None, None),
            (false, Receiving::Deaf { since, why }) => {
                ("down", Some(why), Some(clock::rfc3339(since)))
            }
        };
        let leader =
            leader.map(|leader| ReadyLeader { holder: leader.holder.clone(), epoch: leader.epoch });
        let state = state.to_owned();
        (adapter.name.to_owned(), ReadyAdapter { state, detail, since, leader })
    };
    api.adapters.borrow().iter().map(one).collect()
}

/// Where cards are late; nothing where the store cannot tell.
async fn late(api: &Api) -> Vec<ReadyLate> {
    let late = api.store.late_cards(clock::now_ms() - SHOWN_WITHIN_MS).await.unwrap_or_default();
    let told = |LateCards { adapter, target, cards, since }| ReadyLate {
        adapter,
        target,
        cards,
        since: clock::rfc3339(since),
    };
    late.into_iter().map(told).collect()
}

// `/v1/reload`: puts a changed config in force.

// SECURITY: an agent's handle does not reload. The approver's does, even where it may not answer: a
// reload grants nothing to its caller, and it must work after local answering was switched off.
pub(super) async fn reload(api: Api, _: Answering) -> JsonReply<ReloadReply> {
    (api.reload)().await.map(Json).map_err(ApiError::unprocessable)
}
