//! What is measured, as metrics of OTLP.

use super::attributes::text;
use countersign_web::{Measured, Metric, MetricKind};
use serde_json::{Value, json};

/// What OTLP calls a sum that goes on from the start.
const CUMULATIVE: u8 = 2;

/// The metrics as they are now, of a daemon that started then; Unix milliseconds.
pub(super) fn of(measured: &[Measured], started: i64, now: i64) -> Vec<Value> {
    measured.iter().map(|measured| metric(measured, started, now)).collect()
}

fn metric(Measured { metric, values }: &Measured, started: i64, now: i64) -> Value {
    let Metric { otel_name, help, unit, kind, label, .. } = metric;
    let point = |(of, value): &(String, i64)| {
        let mut point = json!({"timeUnixNano": nanoseconds(now), "asInt": value.to_string()});
        if let Some(point) = point.as_object_mut() {
            if *kind == MetricKind::Counter {
                point.insert("startTimeUnixNano".to_owned(), nanoseconds(started).into());
            }
            if let Some(label) = label {
                point.insert("attributes".to_owned(), json!([text(label, of)]));
            }
        }
        point
    };
    let points: Vec<Value> = values.iter().map(point).collect();
    let (shape, data) = match kind {
        MetricKind::Gauge => ("gauge", json!({"dataPoints": points})),
        MetricKind::Counter => (
            "sum",
            json!({"aggregationTemporality": CUMULATIVE, "isMonotonic": true,
                "dataPoints": points}),
        ),
    };
    json!({"name": otel_name, "description": help, "unit": unit, shape: data})
}

fn nanoseconds(ms: i64) -> String {
    i128::from(ms).saturating_mul(1_000_000).to_string()
}
