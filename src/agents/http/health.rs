//! `/healthz`, `/readyz`, `/metrics`: how the daemon is.

use super::{Api, Fault};
use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use countersign_port::Health;
use serde_json::json;
use std::fmt::Write;

/// The process is alive.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// It takes asks; every adapter says how it is.
pub(super) async fn readyz(State(api): State<Api>) -> Response {
    let trouble = api.gate.store().probe().await;
    let adapters: serde_json::Map<_, _> = api
        .adapters
        .iter()
        .map(|adapter| (adapter.name().to_owned(), json!(adapter.health())))
        .collect();
    let status = if trouble.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "store": trouble.map_or_else(|| json!("up"), |it| json!({"problem": it.says, "mend": it.mend})),
        "rules": api.gate.rules_problem().map_or_else(|| json!("up"), |problem| json!({"problem": problem})),
        "adapters": adapters,
    });
    (status, Json(body)).into_response()
}

/// Counters for Prometheus, in its text format.
pub(super) async fn metrics(State(api): State<Api>) -> Result<Response, Fault> {
    let store = api.gate.store();
    let open = store.asks_in("open", 10_000).await?.len();
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
        "# HELP countersign_adapter_up Whether the adapter sends and receives.\n\
         # TYPE countersign_adapter_up gauge\n",
    );
    for adapter in api.adapters.iter() {
        let up = u8::from(adapter.health() == Health::Up);
        let _ = writeln!(text, "countersign_adapter_up{{adapter=\"{}\"}} {up}", adapter.name());
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
