//! Sends traces and metrics to a collector (OpenTelemetry, OTLP over HTTP with JSON).

mod attributes;
mod metrics;
mod spans;

use crate::config::OtelSettings;
use attributes::attribute;
use countersign_domain::log::{LogLine, LogRow};
use countersign_store::{Store, StoreError};
use countersign_tokens::clock;
use countersign_web::Meter;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often metrics are sent.
const METRICS: Duration = Duration::from_secs(60);
/// The pause before metrics are tried again.
const AGAIN: Duration = Duration::from_secs(10);
/// What is older is not sent any more: collectors do not take it, and a dead one shall not fill up.
const OLDEST_MS: i64 = 3_600_000;

/// Why a collector did not take something.
enum NotTaken {
    /// It may take it later.
    Later(String),
    /// It never will.
    Never(String),
}

/// Sends the traces of these rows. What the collector refuses for good, or is too old, is counted
/// in the log as `untraced`.
// INVARIANT: only numbers, names and ids are sent: no arguments, reasons, rules or words.
pub(super) async fn send(
    settings: &OtelSettings,
    store: &Store,
    daemon: &str,
    lines: &[LogLine],
    is_first: bool,
) -> Result<(), String> {
    let failed = |error: StoreError| error.to_string();
    let oldest = clock::now_ms() - OLDEST_MS;
    let (mut all, mut rows, mut lost) = (Vec::new(), 0_u64, 0_u64);
    for row in lines.iter().filter_map(row) {
        if row.at < oldest {
            lost += u64::from(!is_first);
            continue;
        }
        let ask = match &row.ask {
            Some(id) => store.whole_ask(id).await.map_err(failed)?,
            None => None,
        };
        all.extend(spans::of(store.id(), row, ask.as_ref()));
        rows += 1;
    }
    if !all.is_empty() {
        let resource = resource(daemon);
        let scope = scope();
        let body = json!({"resourceSpans": [{"resource": resource,
            "scopeSpans": [{"scope": scope, "spans": all}]}]});
        match post(settings, "traces", &body).await {
            Ok(()) => {}
            Err(NotTaken::Later(why)) => return Err(why),
            Err(NotTaken::Never(why)) => {
                tracing::warn!(why, rows, "the collector refuses traces, so they are not sent");
                lost += rows;
            }
        }
    }
    if lost > 0 {
        let data = json!({ "rows": lost });
        store.note(clock::now_ms(), "untraced", None, &data).await.map_err(failed)?;
    }
    Ok(())
}

/// Sends nothing to a collector, which shows whether it would take something.
pub(super) async fn try_out(settings: &OtelSettings) -> Result<(), String> {
    match post(settings, "traces", &json!({"resourceSpans": []})).await {
        Ok(()) => Ok(()),
        Err(NotTaken::Later(why) | NotTaken::Never(why)) => Err(why),
    }
}

/// Sends metrics every minute for as long as it is polled. What a collector does not take is not
/// kept: the next ones say as much.
pub(super) async fn keep_metrics(settings: OtelSettings, meter: Meter) {
    let (mut taken, started) = (true, clock::now_ms());
    loop {
        let sent = async {
            let measured = meter.measure().await.map_err(|error| error.to_string())?;
            let metrics = metrics::of(&measured, started, clock::now_ms());
            let scope = scope();
            let body = json!({"resourceMetrics": [{"resource": resource(&meter.daemon),
                "scopeMetrics": [{"scope": scope, "metrics": metrics}]}]});
            match post(&settings, "metrics", &body).await {
                Ok(()) => Ok(()),
                Err(NotTaken::Later(why) | NotTaken::Never(why)) => Err(why),
            }
        };
        let sent = sent.await;
        if let (Err(why), true) = (&sent, taken) {
            tracing::warn!(why, "the collector takes no metrics");
        }
        taken = sent.is_ok();
        tokio::time::sleep(if taken { METRICS } else { AGAIN }).await;
    }
}

fn row(line: &LogLine) -> Option<&LogRow> {
    match line {
        LogLine::Row(row, _) => Some(row),
        LogLine::Checkpoint(_) => None,
    }
}

fn resource(daemon: &str) -> Value {
    json!({"attributes": [
        attribute("service.name", json!({"stringValue": "countersign"})),
        attribute("service.version", json!({"stringValue": env!("CARGO_PKG_VERSION")})),
        attribute("service.instance.id", json!({"stringValue": daemon})),
    ]})
}

fn scope() -> Value {
    json!({"name": "countersign", "version": env!("CARGO_PKG_VERSION")})
}

async fn post(settings: &OtelSettings, signal: &str, body: &Value) -> Result<(), NotTaken> {
    // The error of `reqwest` contains the address, which may contain a token.
    let later = |error: reqwest::Error| NotTaken::Later(error.without_url().to_string());
    // SECURITY: no redirect is followed: it would send everything to somebody else.
    let client = reqwest::Client::builder()
        .timeout(PATIENCE)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(later)?;
    let mut request = client
        .post(format!("{}/v1/{signal}", settings.endpoint))
        .header("content-type", "application/json")
        .body(body.to_string());
    for (name, value) in headers(settings).map_err(NotTaken::Later)? {
        request = request.header(name, value);
    }
    let status = request.send().await.map_err(later)?.status();
    let why = format!("it answers {status}");
    match status.as_u16() {
        200..=299 => Ok(()),
        // The status codes that OTLP names for trying again, and those that somebody can mend.
        401 | 403 | 404 | 408 | 429 | 502..=504 => Err(NotTaken::Later(why)),
        _ => Err(NotTaken::Never(why)),
    }
}

/// The headers in the file, which is read for each request: its token may be replaced.
fn headers(settings: &OtelSettings) -> Result<Vec<(String, String)>, String> {
    let Some(path) = &settings.headers_file else { return Ok(Vec::new()) };
    let cannot = |why: &str| format!("[otel] headers_file {}: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| cannot(&error.to_string()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    lines.map(|line| header(line).ok_or_else(|| cannot("a line is not `Name: value`"))).collect()
}
