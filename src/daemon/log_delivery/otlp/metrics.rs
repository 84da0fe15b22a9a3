//! What is counted, as metrics of OTLP.

use super::attributes::text;
use crate::{
    clock,
    store::{Store, StoreError},
};
use serde_json::{Value, json};

/// What OTLP calls a sum that goes on from the start.
const CUMULATIVE: u8 = 2;

/// The metrics of a store as they are now.
pub(super) async fn of(store: &Store, started: i64) -> Result<Vec<Value>, StoreError> {
    let now = nanoseconds(clock::now_ms());
    let gauge = |name: &str, what: &str, unit: &str, value: i64| {
        json!({"name": name, "description": what, "unit": unit,
            "gauge": {"dataPoints": [{"timeUnixNano": now, "asInt": value.to_string()}]}})
    };
    let open = store.count_open().await?;
    let paused = i64::from(store.pause().await?.is_some());
    let started = nanoseconds(started);
    let points = store.event_counts().await?.into_iter().map(|(kind, count)| {
        json!({"startTimeUnixNano": started, "timeUnixNano": now, "asInt": count.to_string(),
            "attributes": [text("kind", &kind)]})
    });
    let points: Vec<Value> = points.collect();
    let all = json!({"aggregationTemporality": CUMULATIVE, "isMonotonic": true,
        "dataPoints": points});
    Ok(vec![
        gauge("countersign.asks.open", "Asks that wait for a person.", "{ask}", open),
        gauge("countersign.paused", "Whether everything is paused.", "1", paused),
        json!({"name": "countersign.events", "description": "What happened, by kind.",
            "unit": "{event}", "sum": all}),
    ])
}

fn nanoseconds(ms: i64) -> String {
    i128::from(ms).saturating_mul(1_000_000).to_string()
}
