//! The rows of the log as spans: one trace for each call, from its submission to its answer and
//! its end. Pure.
//!
//! Ids are computed from the store and the ask, so a row that is sent twice is the same span.

use super::attributes::{attribute, text};
use countersign_domain::{Answer, Ask, Decision, State, log::LogRow};
use countersign_tokens::digest::sha256_hex;
use serde_json::{Map, Value, json};

/// What OTLP calls the kinds of a span: work inside, and work for a caller.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
/// What OTLP calls its states.
const OK: u8 = 1;
const ERROR: u8 = 2;

/// The spans that a row ends.
pub(super) fn of(store: &str, row: &LogRow, ask: Option<&Ask>) -> Vec<Value> {
    let data: Value = serde_json::from_str(&row.data).unwrap_or_default();
    match (row.kind.as_str(), ask) {
        ("allowed" | "ruled", _) => vec![ruled(store, row, &data)],
        ("answered" | "expired" | "cancelled", Some(ask)) => vec![call(store, row, ask)],
        // Later versions of a card are redrawn, and nobody waits for that.
        ("shown", Some(ask)) if data.get("version") == Some(&json!(1)) => {
            let place = field(&data, "adapter");
            let span = part(store, row, ask, "show", (ask.created_at, row.at));
            vec![span.with([text("countersign.adapter", place)]).json()]
        }
        ("voted", Some(ask)) => {
            let decision = field(&data, "decision");
            let span = part(store, row, ask, "vote", (row.at, row.at));
            vec![span.with([text("countersign.decision", decision)]).json()]
        }
        ("finished", Some(ask)) => {
            let execution = ask.answer().and_then(|answer| answer.execution.as_ref());
            let Some((started, end)) = execution.and_then(|it| Some((it.started_at, it.end?)))
            else {
                return Vec::new();
            };
            let mut span = part(store, row, ask, "run", (started, end.at));
            span.status = Some(if end.exit == 0 { (OK, "") } else { (ERROR, "exit code") });
            let exit = attribute("process.exit.code", json!({"intValue": end.exit.to_string()}));
            vec![span.with([exit]).json()]
        }
        _ => Vec::new(),
    }
}

/// A span before it is written.
struct Span {
    trace: String,
    id: String,
    parent: Option<String>,
    name: String,
    kind: u8,
    times: (i64, i64),
    status: Option<(u8, &'static str)>,
    attributes: Vec<Value>,
}

impl Span {
    fn with(mut self, more: impl IntoIterator<Item = Value>) -> Self {
        self.attributes.extend(more);
        self
    }

    fn json(self) -> Value {
        let (start, end) = self.times;
        let mut span = Map::new();
        span.insert("traceId".to_owned(), self.trace.into());
        span.insert("spanId".to_owned(), self.id.into());
        span.extend(self.parent.map(|parent| ("parentSpanId".to_owned(), parent.into())));
        span.insert("name".to_owned(), self.name.into());
        span.insert("kind".to_owned(), self.kind.into());
        span.insert("startTimeUnixNano".to_owned(), nanoseconds(start).into());
        // Clocks of several daemons differ, and no span ends before it starts.
        span.insert("endTimeUnixNano".to_owned(), nanoseconds(end.max(start)).into());
        span.insert("attributes".to_owned(), self.attributes.into());
        if let Some((code, message)) = self.status {
            let status = match message {
                "" => json!({ "code": code }),
                message => json!({ "code": code, "message": message }),
            };
            span.insert("status".to_owned(), status);
        }
        span.into()
    }
}

/// A call that rules decided alone.
fn ruled(store: &str, row: &LogRow, data: &Value) -> Value {
    let number = row.seq.to_string();
    let verdict = if row.kind == "allowed" { "allow" } else { "deny" };
    let of = |name: &str| field(data, name);
    Span {
        trace: id(store, &["call", &number], 32),
        id: id(store, &["span", &number], 16),
        parent: None,
        name: "call".to_owned(),
        kind: SERVER,
        times: (row.at, row.at),
        status: None,
        attributes: vec![
            text("countersign.agent", of("agent")),
            text("countersign.session", of("session")),
            text("countersign.tool", of("tool")),
            text("countersign.verdict", verdict),
            text("countersign.decided_by", "policy"),
        ],
    }
    .json()
}

/// A call that people were asked about, from its submission to its answer.
fn call(store: &str, row: &LogRow, ask: &Ask) -> Value {
    let call = &ask.body.call;
    let (state, answer) = (ask.state.name(), ask.answer());
    let decision = answer.map_or("none", |answer| match answer.decision {
        Decision::Approve => "approve",
        Decision::Answer => "answer",
        Decision::Edit => "edit",
        Decision::Deny => "deny",
    });
    let critical = attribute("countersign.critical", json!({"boolValue": ask.body.critical}));
    let voters = answer.map_or(0, |answer| answer.with.len().saturating_add(1)).to_string();
    let mut attributes = vec![
        text("countersign.ask", &ask.id),
        text("countersign.agent", &call.agent),
        text("countersign.session", &call.session),
        text("countersign.tool", &call.tool),
        text("countersign.state", state),
        text("countersign.decision", decision),
        critical,
    ];
    if matches!(ask.state, State::Answered(_)) {
        attributes.push(attribute("countersign.voters", json!({ "intValue": voters })));
        attributes.extend(answer.map(|answer| text("countersign.decided_by", kind_of(answer))));
    }
    let end = answer.map_or(row.at, |answer| answer.at);
    Span {
        trace: trace_of(store, ask),
        id: root_of(store, ask),
        parent: None,
        name: "call".to_owned(),
        kind: SERVER,
        times: (ask.created_at, end),
        status: Some(match ask.state {
            State::Expired(_) => (ERROR, "nobody answered in time"),
            State::Cancelled(_) => (ERROR, "its caller went away"),
            State::Answered(_) | State::Open => (OK, ""),
        }),
        attributes,
    }
    .json()
}

/// A part of what became of an ask.
fn part(store: &str, row: &LogRow, ask: &Ask, name: &str, times: (i64, i64)) -> Span {
    Span {
        trace: trace_of(store, ask),
        id: id(store, &["part", &ask.id, &row.seq.to_string()], 16),
        parent: Some(root_of(store, ask)),
        name: name.to_owned(),
        kind: INTERNAL,
        times,
        status: None,
        attributes: vec![text("countersign.ask", &ask.id)],
    }
}

fn kind_of(answer: &Answer) -> &'static str {
    use countersign_domain::By;
    match &answer.by {
        By::Person { .. } => "person",
        By::Policy { .. } => "grant",
        By::Timeout | By::NoApprover => "deadline",
        By::Caller => "caller",
    }
}

fn trace_of(store: &str, ask: &Ask) -> String {
    id(store, &["trace", &ask.id], 32)
}

fn root_of(store: &str, ask: &Ask) -> String {
    id(store, &["root", &ask.id], 16)
}

/// An id of so many hex digits. One of zeros alone, which OTLP forbids, does not come up.
fn id(store: &str, parts: &[&str], digits: usize) -> String {
    let text = format!("countersign {store} {}", parts.join(" "));
    sha256_hex(text.as_bytes()).chars().take(digits).collect()
}

fn nanoseconds(ms: i64) -> String {
    i128::from(ms).saturating_mul(1_000_000).to_string()
}

fn field<'d>(data: &'d Value, name: &str) -> &'d str {
    data.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_domain::{Body, By, call::Call};

    fn ask(state: State) -> Ask {
        let call = Call::new("bot", "s1", "Bash", json!({"command": "echo a-secret"}));
        Ask { state, ..Ask::opened("k3f9", "digest", Body::new(call, "no rule"), 1_000) }
    }

    fn row(seq: i64, kind: &str, data: &Value) -> LogRow {
        let (ask, data) = (Some("k3f9".to_owned()), data.to_string());
        LogRow { seq, at: 5_000, kind: kind.to_owned(), ask, data }
    }

    #[test]
    fn a_call_is_one_trace_whose_parts_name_it_as_their_parent_and_nothing_it_says_is_sent() {
        let by = By::Person { platform: "p".into(), id: "1".into(), name: "Ana".into() };
        let yes =
            Answer { reason: Some("a-secret".into()), ..Answer::new(Decision::Approve, by, 4_000) };
        let ask = ask(State::Answered(yes));
        let shown = of("st", &row(2, "shown", &json!({"adapter": "p", "version": 1})), Some(&ask));
        let ended = of("st", &row(3, "answered", &json!({"reason": "a-secret"})), Some(&ask));
        let (shown, ended) = (shown.first().unwrap(), ended.first().unwrap());
        let hex = |id: &Value, digits: usize| {
            let id = id.as_str().unwrap();
            id.len() == digits && id.chars().all(|it| it.is_ascii_hexdigit())
        };
        for span in [shown, ended] {
            assert!(hex(&span["traceId"], 32) && hex(&span["spanId"], 16), "{span}");
            assert_eq!(span["traceId"], ended["traceId"]);
            assert!(!span.to_string().contains("a-secret"), "{span}");
        }
        assert_eq!(shown["parentSpanId"], ended["spanId"]);
        assert_eq!(ended.get("parentSpanId"), None);
        let times = (&ended["startTimeUnixNano"], &ended["endTimeUnixNano"]);
        assert_eq!(times, (&json!("1000000000"), &json!("4000000000")));
        assert_eq!(ended["status"], json!({"code": 1}));
        let again = of("st", &row(3, "answered", &json!({})), Some(&ask));
        assert_eq!(again.first(), Some(ended), "what is sent twice is the same span");
        assert_ne!(of("other", &row(3, "answered", &json!({})), Some(&ask)).first(), Some(ended));
    }

    #[test]
    fn an_ask_that_nobody_answered_is_an_error_and_a_ruled_call_a_trace_of_its_own() {
        let no = Answer::new(Decision::Deny, By::Timeout, 500);
        let ended = of("st", &row(3, "expired", &json!({})), Some(&ask(State::Expired(no))));
        let ended = ended.first().unwrap();
        let late = json!({"code": 2, "message": "nobody answered in time"});
        assert_eq!(ended["status"], late);
        assert_eq!(ended["endTimeUnixNano"], ended["startTimeUnixNano"], "it does not end before");
        let data = json!({"agent": "bot", "session": "s", "tool": "Bash", "reason": "a-secret"});
        let (one, two) =
            (of("st", &row(4, "ruled", &data), None), of("st", &row(5, "allowed", &data), None));
        assert_ne!(one.first().unwrap()["traceId"], two.first().unwrap()["traceId"]);
        assert!(!format!("{one:?}").contains("a-secret"));
        assert!(of("st", &row(6, "paused", &data), None).is_empty());
    }
}
