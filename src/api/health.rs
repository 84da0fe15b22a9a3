//! `/healthz`, `/readyz`, `/metrics`: how the daemon is.

use super::{fault::Fault, state::Api};
use crate::{
    clock,
    store::{Leader, Trouble},
};
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use countersign_port::{NamedAdapter, Receiving};
use countersign_protocol::{ReadyAdapter, ReadyLeader, ReadyReply, ReadyState, Up};
use std::{collections::BTreeMap, fmt::Write};

/// The process is alive.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether it takes asks and hears every chat that it leads; how every adapter is, and who leads
/// it.
pub(super) async fn readyz(State(api): State<Api>) -> Response {
    let trouble = api.store.probe().await;
    // A store that does not work is not asked twice: whoever asks us waits for us.
    let (leaders, clock_ahead) = match trouble {
        None => (leaders(&api).await, api.store.clock_ahead().await.ok()),
        Some(_) => Default::default(),
    };
    let stopping = api.gate.is_stopping();
    let problems = (api.notices)(&api.adapters);
    let good = trouble.is_none() && !stopping && problems.is_empty();
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let up = ReadyState::Up(Up::Up);
    let broken = |it: Trouble| ReadyState::Down { problem: it.says, mend: Some(it.mend) };
    let body = ReadyReply {
        store: trouble.map_or(up.clone(), broken),
        rules: api
            .gate
            .rules_problem()
            .map_or(up, |problem| ReadyState::Down { problem, mend: None }),
        adapters: adapters(&api, &leaders),
        problems,
        daemon: api.gate.daemon().to_owned(),
        shared: api.store.is_shared(),
        clock_ahead_ms: clock_ahead,
        stopping,
        inbox: api.inbox,
    };
    (status, Json(body)).into_response()
}

/// Who holds which lease; nothing where the store cannot tell.
async fn leaders(api: &Api) -> BTreeMap<String, Leader> {
    let leaders = api.store.leaders().await.unwrap_or_default();
    leaders.into_iter().map(|leader| (leader.lease.clone(), leader)).collect()
}

/// How every adapter is. One that another daemon leads stands by.
fn adapters(api: &Api, leaders: &BTreeMap<String, Leader>) -> BTreeMap<String, ReadyAdapter> {
    let one = |adapter: &NamedAdapter| {
        let leader = api.leases.get(adapter.name).and_then(|lease| leaders.get(lease));
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
    api.adapters.iter().map(one).collect()
}

/// Counters for Prometheus, in its text format.
pub(super) async fn metrics(State(api): State<Api>) -> Result<Response, Fault> {
    let store = &api.store;
    let open = store.count_open().await?;
    let mut text = format!(
        "# HELP countersign_asks_open Asks that wait for a person.\n\
         # TYPE countersign_asks_open gauge\ncountersign_asks_open {open}\n\
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
    for adapter in api.adapters.iter() {
        let up = u8::from(adapter.signals().receiving() == Receiving::Listening);
        let _ = writeln!(text, "countersign_adapter_up{{adapter=\"{}\"}} {up}", adapter.name);
    }
    text.push_str(
        "# HELP countersign_leading Whether this daemon receives for the adapter's account.\n\
         # TYPE countersign_leading gauge\n",
    );
    let leaders = leaders(&api).await;
    for (adapter, lease) in api.leases.iter() {
        let here = leaders.get(lease).is_some_and(|leader| leader.holder == api.gate.daemon());
        let _ = writeln!(text, "countersign_leading{{adapter=\"{adapter}\"}} {}", u8::from(here));
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
