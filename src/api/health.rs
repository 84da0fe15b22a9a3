//! `/healthz`, `/readyz`, `/metrics`: the daemon's health.

use super::{error::ApiError, pause, state::Api};
use crate::{
    clock,
    store::{LateCards, Leader, SHOWN_WITHIN_MS, StoreError, Trouble},
};
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use countersign_port::{NamedAdapter, Receiving};
use countersign_protocol::{
    ReadyAdapter, ReadyLate, ReadyLeader, ReadyReply, ReadyState, ReadyWaiting, Up,
};
use std::{collections::BTreeMap, fmt::Write};

/// For how long it is noted that a session has no thread; milliseconds.
const NOTED_MS: i64 = 60 * 60 * 1000;

/// Replies while the process runs.
// Without the store: a supervisor that restarts us would not bring a lost database back.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Returns 200 if the daemon takes asks and receives from every chat that it leads; the body shows
/// the state and the leader of each adapter.
pub(super) async fn readyz(State(api): State<Api>) -> Response {
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
    let notes = match trouble {
        None => notes(&api).await.unwrap_or_default(),
        Some(_) => Vec::new(),
    };
    let stopping = api.gate.is_stopping();
    let problems = (api.notices)(&api.adapters.borrow());
    let good = trouble.is_none() && !stopping && problems.is_empty();
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let up = ReadyState::Up(Up::Up);
    let broken = |it: Trouble| ReadyState::Down { problem: it.says, fix: Some(it.fix) };
    let body = ReadyReply {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        store: trouble.map_or(up.clone(), broken),
        rules: api
            .gate
            .rules_problem()
            .map_or(up, |problem| ReadyState::Down { problem, fix: None }),
        adapters: adapters(&api, &leaders),
        problems,
        paused: paused.as_ref().map(pause::view),
        paused_agents,
        late: late.iter().map(told_late).collect(),
        notes,
        waiting,
        config: api.config.borrow().clone(),
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
async fn late(api: &Api) -> Vec<LateCards> {
    api.store.late_cards(clock::now_ms() - SHOWN_WITHIN_MS).await.unwrap_or_default()
}

fn told_late(late: &LateCards) -> ReadyLate {
    let LateCards { adapter, target, cards, since } = late.clone();
    ReadyLate { adapter, target, cards, since: clock::rfc3339(since) }
}

/// Metrics in Prometheus' text format.
pub(super) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let store = &api.store;
    let open = store.count_open().await?;
    let paused = u8::from(store.pause().await?.is_some());
    let mut text = format!(
        "# HELP countersign_asks_open Asks that wait for a person.\n\
         # TYPE countersign_asks_open gauge\ncountersign_asks_open {open}\n\
         # HELP countersign_paused Whether everything is paused.\n\
         # TYPE countersign_paused gauge\ncountersign_paused {paused}\n\
         # HELP countersign_events_total What happened, by kind.\n\
         # TYPE countersign_events_total counter\n"
    );
    for (kind, count) in store.event_counts().await? {
        let _ = writeln!(text, "countersign_events_total{{kind=\"{kind}\"}} {count}");
    }
    text.push_str(
        "# HELP countersign_adapter_up Whether the adapter receives presses.\n\
         # TYPE countersign_adapter_up gauge\n",
    );
    for adapter in api.adapters.borrow().iter() {
        let up = u8::from(adapter.signals().receiving() == Receiving::Listening);
        let _ = writeln!(text, "countersign_adapter_up{{adapter=\"{}\"}} {up}", adapter.name);
    }
    write_late(&api, &mut text).await;
    text.push_str(
        "# HELP countersign_leading Whether this daemon receives for the adapter's account.\n\
         # TYPE countersign_leading gauge\n",
    );
    let leaders = leaders(&api).await;
    for (adapter, lease) in api.leases.borrow().iter() {
        let here = leaders.get(lease).is_some_and(|leader| leader.holder == api.gate.daemon());
        let _ = writeln!(text, "countersign_leading{{adapter=\"{adapter}\"}} {}", u8::from(here));
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}

async fn write_late(api: &Api, text: &mut String) {
    text.push_str(
        "# HELP countersign_cards_late Open asks that wait to be shown for longer than they \
         should.\n\
         # TYPE countersign_cards_late gauge\n\
         # HELP countersign_cards_late_seconds How long the oldest of them has waited.\n\
         # TYPE countersign_cards_late_seconds gauge\n",
    );
    let late = late(api).await;
    for adapter in api.adapters.borrow().iter() {
        let of_it = || late.iter().filter(|late| late.adapter == adapter.name);
        let cards: u64 = of_it().map(|late| late.cards).sum();
        let oldest = of_it().map(|late| clock::now_ms() - late.since).max().unwrap_or_default();
        let (name, seconds) = (adapter.name, oldest / 1000);
        let _ = writeln!(text, "countersign_cards_late{{adapter=\"{name}\"}} {cards}");
        let _ = writeln!(text, "countersign_cards_late_seconds{{adapter=\"{name}\"}} {seconds}");
    }
}
