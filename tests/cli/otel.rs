//! `[otel]`: a collector gets a trace of each call and metrics, in the shape of OTLP.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, LONG, shell},
    process::{run, start},
};
use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::post,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{net::TcpListener, time::sleep};

/// A collector that is down for so many requests, then takes everything.
#[derive(Clone, Default)]
struct Collector {
    taken: Arc<Mutex<Vec<(String, Value)>>>,
    down: Arc<Mutex<usize>>,
    answers: Arc<Mutex<u16>>,
}

async fn receive(
    State(collector): State<Collector>,
    Path(signal): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x-key"], "of-the-collector");
    let mut down = collector.down.lock().unwrap();
    if *down > 0 {
        *down -= 1;
        let answers = *collector.answers.lock().unwrap();
        return StatusCode::from_u16(answers).unwrap();
    }
    let body = serde_json::from_slice(&body).unwrap();
    collector.taken.lock().unwrap().push((signal, body));
    StatusCode::OK
}

impl Collector {
    async fn start(down: usize, answers: u16) -> (Self, String) {
        let collector = Self::default();
        (*collector.down.lock().unwrap(), *collector.answers.lock().unwrap()) = (down, answers);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new().route("/v1/{signal}", post(receive)).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        (collector, url)
    }

    /// All spans by id, each of which has the shape of OTLP's JSON.
    fn spans(&self) -> BTreeMap<String, Value> {
        let mut spans = BTreeMap::new();
        for (signal, body) in self.taken.lock().unwrap().iter() {
            let resources = body["resourceSpans"].as_array().cloned().unwrap_or_default();
            assert_eq!(signal == "traces", !resources.is_empty(), "{signal}: {body}");
            for resource in resources {
                let service = &resource["resource"]["attributes"][0];
                let name = json!({"key": "service.name", "value": {"stringValue": "countersign"}});
                assert_eq!(service, &name);
                for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
                    has_the_shape(span);
                    spans.insert(span["spanId"].as_str().unwrap().to_owned(), span.clone());
                }
            }
        }
        spans
    }

    fn named(&self, name: &str) -> Vec<Value> {
        self.spans().into_values().filter(|span| span["name"] == name).collect()
    }
}

fn hex(id: &Value, digits: usize) -> bool {
    let id = id.as_str().unwrap();
    let lower = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    id.len() == digits && id.bytes().all(lower) && id.bytes().any(|byte| byte != b'0')
}

fn has_the_shape(span: &Value) {
    const KEYS: [&str; 9] = [
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "status",
    ];
    assert!(span.as_object().unwrap().keys().all(|key| KEYS.contains(&key.as_str())), "{span}");
    assert!(hex(&span["traceId"], 32) && hex(&span["spanId"], 16), "{span}");
    assert!(span.get("parentSpanId").is_none_or(|id| hex(id, 16)), "{span}");
    let time = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    let (from, to) = (time("startTimeUnixNano"), time("endTimeUnixNano"));
    assert!(from <= to && from > 1_000_000_000_000_000_000, "{span}");
    assert!([json!(1), json!(2)].contains(&span["kind"]), "{span}");
    for attribute in span["attributes"].as_array().unwrap() {
        assert!(attribute["key"].is_string(), "{attribute}");
        assert_eq!(attribute["value"].as_object().unwrap().len(), 1, "{attribute}");
    }
    let code = &span["status"]["code"];
    assert!(code.is_null() || [json!(1), json!(2)].contains(code), "{span}");
}

fn attribute(span: &Value, key: &str) -> Value {
    let all = span["attributes"].as_array().unwrap();
    let found = all.iter().find(|attribute| attribute["key"] == key);
    found
        .map_or(Value::Null, |it| it["value"].as_object().unwrap().values().next().unwrap().clone())
}

async fn until(mut is: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is() {
        assert!(since.elapsed() < LONG, "it does not become true");
        sleep(Duration::from_millis(50)).await;
    }
}

/// A daemon with this collector.
async fn daemon(url: &str) -> Daemon {
    let daemon = Daemon::start("").await;
    let mut daemon = daemon;
    assert!(daemon.stop().await);
    fs::write(daemon.dir.path().join("otel.headers"), "X-Key: of-the-collector\n").unwrap();
    let headers = daemon.dir.path().join("otel.headers");
    daemon.write_config(&format!(
        "[otel]\nendpoint = \"{url}/\"\nheaders_file = \"{}\"\n",
        headers.display()
    ));
    daemon.run().await;
    daemon
}

#[tokio::test]
async fn a_call_is_a_trace_from_its_submission_to_its_exit_code_though_the_collector_was_down() {
    let (collector, url) = Collector::start(3, 503).await;
    let daemon = daemon(&url).await;
    assert_eq!(daemon.call(&shell("ls -l")).await.1["verdict"], "allow");
    let before = Instant::now();
    let mut running =
        start(&daemon, &["run", "--", "sh", "-c", "env | grep -c a-secret-word; exit 7"]);
    let id = running.waits_for().await;
    let approve = json!({"decision": "approve", "reason": "my-own-words"});
    assert_eq!(daemon.answer(&id, &approve).await.0, 200);
    assert_eq!(running.ends().await.code, Some(7));
    let took = before.elapsed();
    until(|| !collector.named("run").is_empty() && collector.named("call").len() > 1).await;
    let run_span = collector.named("run").pop().unwrap();
    let calls = collector.named("call");
    let asked = calls.iter().find(|span| attribute(span, "countersign.ask") == id.as_str());
    let asked = asked.expect("the call has a span");
    assert_eq!(run_span["traceId"], asked["traceId"]);
    assert_eq!(run_span["parentSpanId"], asked["spanId"]);
    assert_eq!(asked.get("parentSpanId"), None);
    assert_eq!((&asked["status"]["code"], &run_span["status"]["code"]), (&json!(1), &json!(2)));
    assert_eq!(attribute(&run_span, "process.exit.code"), "7");
    assert_eq!(attribute(asked, "countersign.decision"), "approve");
    assert_eq!(attribute(asked, "countersign.decided_by"), "person");
    let nanoseconds =
        |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    let length =
        nanoseconds(&run_span, "endTimeUnixNano") - nanoseconds(asked, "startTimeUnixNano");
    assert!(length <= took.as_nanos() + 2_000_000, "{length}");
    // Calls that rules decide are traces of their own.
    let allowed = calls.iter().find(|span| attribute(span, "countersign.decided_by") == "policy");
    assert_ne!(allowed.unwrap()["traceId"], asked["traceId"]);
    until(|| collector.taken.lock().unwrap().iter().any(|(signal, _)| signal == "metrics")).await;
    let taken = collector.taken.lock().unwrap().clone();
    for said in ["a-secret-word", "my-own-words", AGENT, APPROVER, "of-the-collector"] {
        assert!(!taken.iter().any(|(_, body)| body.to_string().contains(said)), "{said}");
        assert!(said == "a-secret-word" || !daemon.said().contains(said), "{said}");
    }
    let metrics = taken.iter().find(|(signal, _)| signal == "metrics").unwrap();
    let metrics = &metrics.1["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let names: Vec<&str> =
        metrics.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let all = [
        "countersign.asks.open",
        "countersign.paused",
        "countersign.events",
        "countersign.adapter.up",
        "countersign.cards.late",
        "countersign.cards.late.age",
        "countersign.leading",
        "countersign.log.broken",
        "countersign.log.undelivered",
        "countersign.log.lost",
        "countersign.clock.ahead",
    ];
    assert_eq!(names, all);
    let inbox = |metric: &Value| {
        let points = metric["gauge"]["dataPoints"].as_array().unwrap().iter();
        let of = |point: &&Value| attribute(point, "adapter") == "inbox";
        points.filter(of).map(|point| point["asInt"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(inbox(&metrics[4]), ["0"], "no card is late");
    assert_eq!(inbox(&metrics[3]).len(), 1, "{metrics}");
    let point = &metrics[0]["gauge"]["dataPoints"][0];
    assert!(point["asInt"].as_str().unwrap().parse::<i64>().is_ok(), "{point}");
    assert_eq!(metrics[2]["sum"]["aggregationTemporality"], 2);
    assert_eq!(metrics[2]["sum"]["isMonotonic"], true);
}

#[tokio::test]
async fn what_a_collector_refuses_for_good_is_counted_and_calls_go_on_meanwhile() {
    let (collector, url) = Collector::start(usize::MAX, 400).await;
    let daemon = daemon(&url).await;
    assert_eq!(daemon.call(&shell("ls -l")).await.1["verdict"], "allow");
    let id = daemon.ask(&shell("git push origin main")).await;
    assert_eq!(daemon.answer(&id, &json!({"decision": "deny"})).await.0, 200);
    let since = Instant::now();
    loop {
        let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
        if metrics.text().await.unwrap().contains("countersign_events_total{kind=\"untraced\"}") {
            break;
        }
        assert!(since.elapsed() < LONG, "nobody says that traces are lost");
        sleep(Duration::from_millis(100)).await;
    }
    let log = run(&daemon, &["log", "--kind", "untraced"]).await;
    assert!(log.stdout.contains("untraced"), "{log:?}");
    assert!(daemon.said().contains("400 Bad Request"), "{}", daemon.said());
    assert_eq!(collector.spans().len(), 0);
}
