//! Frames of Codex's app-server: those that we read, and those that we send.

use crate::codex::reviews::Review;
use countersign_domain::exact_json;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The ids of our own requests begin with this; Codex numbers its own.
const OURS: &str = "countersign:";

/// A frame of the app-server, as far as it matters here.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CodexFrame {
    /// The connection is set up.
    Initialized {
        /// The program and version that answered, such as `codex-tui/0.169.0 (…)`.
        user_agent: String,
    },
    /// The threads in memory.
    Loaded(Vec<String>),
    /// What is known of a thread.
    Thread(CodexThread),
    /// Somebody has to answer a request: a person.
    Request(ServerRequest),
    /// A request is answered, by whomever.
    Resolved {
        /// The thread.
        thread: String,
        /// The request.
        id: Value,
    },
    /// A thread left the memory.
    Closed {
        /// The thread.
        thread: String,
    },
    /// The agent said something.
    Said {
        /// The thread.
        thread: String,
        /// Its words.
        text: String,
    },
    /// A turn ended.
    TurnEnded {
        /// The thread.
        thread: String,
        /// The way in which it ended; `completed` is the good one.
        status: String,
        /// The error that ended it.
        error: Option<String>,
    },
    /// Something failed; Codex may try it again.
    Error {
        /// The reason.
        why: String,
    },
    /// Codex's own reviewer has ended a review.
    Reviewed(Box<Review>),
    /// A request of ours about a review was taken.
    Taken {
        /// The request.
        asked: String,
        /// The result.
        result: Value,
    },
    /// A request of ours failed.
    Refused {
        /// The request.
        asked: String,
        /// The reason.
        why: String,
    },
    /// Anything else.
    Other,
}

/// What is known of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CodexThread {
    /// Its id.
    pub id: String,
    /// Whether it waits for a person, where that is told.
    pub waits: Option<bool>,
    /// Whether a turn of it runs, where that is told.
    pub runs: Option<bool>,
    /// Whether Codex's own reviewer answers in a person's place, where that is told.
    pub reviewer: Option<Reviewer>,
    /// The folder that it works in, where that is told.
    pub cwd: Option<String>,
    /// The changes of files that it makes, by item.
    pub changes: Vec<(String, Value)>,
    /// The calls of MCP tools that it makes, by item.
    pub mcp_calls: Vec<(String, Value)>,
}

/// Who answers the requests of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reviewer {
    /// A person.
    Person,
    /// A model.
    Model,
}

/// A request of the app-server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerRequest {
    /// Its id; the same for every client.
    pub id: Value,
    /// What is requested.
    pub method: String,
    /// Everything about it.
    pub params: Map<String, Value>,
}

impl ServerRequest {
    /// The thread that it belongs to.
    pub(super) fn thread(&self) -> Option<&str> {
        self.params.get("threadId")?.as_str()
    }

    /// The item that it is about.
    pub(super) fn item(&self) -> Option<&str> {
        self.params.get("itemId")?.as_str()
    }
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Map<String, Value>,
    result: Option<Value>,
    error: Option<Value>,
}

/// Reads a frame.
// FAIL-CLOSED: what is not understood is nothing, and nobody is told that it failed: an error as
// the reply would decide for everybody.
pub(super) fn read(text: &str) -> CodexFrame {
    let Ok(Envelope { id, method, params, result, error }) = exact_json::from_str(text) else {
        return CodexFrame::Other;
    };
    match (method, id) {
        (Some(method), Some(id)) => CodexFrame::Request(ServerRequest { id, method, params }),
        (Some(method), None) => notification(&method, &params),
        (None, Some(id)) => {
            let asked = id.as_str().and_then(|id| id.strip_prefix(OURS));
            match (asked, result, error) {
                (Some(asked), Some(result), _) => reply(asked, &result),
                (Some(asked), None, Some(error)) => {
                    CodexFrame::Refused { asked: asked.to_owned(), why: told(&error) }
                }
                _ => CodexFrame::Other,
            }
        }
        (None, None) => CodexFrame::Other,
    }
}

fn notification(method: &str, params: &Map<String, Value>) -> CodexFrame {
    let Some(thread) = params.get("threadId").and_then(Value::as_str).map(str::to_owned) else {
        return CodexFrame::Other;
    };
    match method {
        "thread/status/changed" => {
            let status = params.get("status");
            let waits = status.and_then(waits);
            let runs = status.and_then(runs);
            CodexFrame::Thread(CodexThread { id: thread, waits, runs, ..CodexThread::default() })
        }
        "item/started" => {
            let item = params.get("item");
            let changes = item.and_then(changes).into_iter().collect();
            let mcp_calls = item.and_then(mcp_call).into_iter().collect();
            let told = CodexThread { id: thread, changes, mcp_calls, ..CodexThread::default() };
            CodexFrame::Thread(told)
        }
        "serverRequest/resolved" => match params.get("requestId") {
            Some(id) => CodexFrame::Resolved { thread, id: id.clone() },
            None => CodexFrame::Other,
        },
        "thread/closed" => CodexFrame::Closed { thread },
        "item/autoApprovalReview/completed" => match Review::of(params) {
            Some(review) => CodexFrame::Reviewed(Box::new(review)),
            None => CodexFrame::Other,
        },
        "item/completed" => match params.get("item").and_then(said) {
            Some(text) => CodexFrame::Said { thread, text },
            None => CodexFrame::Other,
        },
        "turn/completed" => {
            let turn = |key: &str| params.get("turn")?.get(key).filter(|value| !value.is_null());
            let status = turn("status").and_then(Value::as_str).unwrap_or_default().to_owned();
            CodexFrame::TurnEnded { thread, status, error: turn("error").map(told) }
        }
        "error" => CodexFrame::Error { why: params.get("error").map(told).unwrap_or_default() },
        _ => CodexFrame::Other,
    }
}

fn reply(asked: &str, result: &Value) -> CodexFrame {
    match asked {
        "initialize" => {
            let user_agent = result.get("userAgent").and_then(Value::as_str);
            CodexFrame::Initialized { user_agent: user_agent.unwrap_or_default().to_owned() }
        }
        "loaded" => {
            let data = result.get("data").and_then(Value::as_array);
            let ids = data.into_iter().flatten().filter_map(Value::as_str);
            CodexFrame::Loaded(ids.map(str::to_owned).collect())
        }
        "thread" => {
            let Some(thread) = result.get("thread") else { return CodexFrame::Other };
            let text = |key: &str| Some(thread.get(key)?.as_str()?.to_owned());
            let Some(id) = text("id") else { return CodexFrame::Other };
            let turns = thread.get("turns").and_then(Value::as_array);
            let items = turns.into_iter().flatten().filter_map(|turn| turn.get("items"));
            let items = items.filter_map(Value::as_array).flatten();
            CodexFrame::Thread(CodexThread {
                id,
                waits: thread.get("status").and_then(waits),
                runs: thread.get("status").and_then(runs),
                reviewer: result.get("approvalsReviewer").and_then(reviewer),
                cwd: text("cwd"),
                changes: items.filter_map(changes).collect(),
                mcp_calls: Vec::new(),
            })
        }
        asked if asked.starts_with(REVIEW) => {
            CodexFrame::Taken { asked: asked.to_owned(), result: result.clone() }
        }
        _ => CodexFrame::Other,
    }
}

/// Who answers, in the words of Codex's config.
fn reviewer(word: &Value) -> Option<Reviewer> {
    match word.as_str()? {
        "user" => Some(Reviewer::Person),
        "auto_review" | "guardian_subagent" => Some(Reviewer::Model),
        _ => None,
    }
}

/// Whether a thread with this status is in a turn.
fn runs(status: &Value) -> Option<bool> {
    Some(status.get("type")?.as_str()? == "active")
}

/// Whether a thread with this status waits for a person.
fn waits(status: &Value) -> Option<bool> {
    status.get("type")?;
    let flags = status.get("activeFlags").and_then(Value::as_array);
    let waiting = ["waitingOnApproval", "waitingOnUserInput"];
    let is = |flag: &Value| flag.as_str().is_some_and(|flag| waiting.contains(&flag));
    Some(flags.into_iter().flatten().any(is))
}

/// The changes of an item that changes files.
fn changes(item: &Value) -> Option<(String, Value)> {
    let is_change = item.get("type")?.as_str()? == "fileChange";
    let id = item.get("id")?.as_str()?.to_owned();
    let changes = item.get("changes").filter(|changes| changes.is_array())?;
    is_change.then(|| (id, changes.clone()))
}

/// The call of an item that calls a tool of an MCP server.
fn mcp_call(item: &Value) -> Option<(String, Value)> {
    let is_call = item.get("type")?.as_str()? == "mcpToolCall";
    let id = item.get("id")?.as_str()?.to_owned();
    let part = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
    let call: Option<Map<String, Value>> =
        ["server", "tool", "arguments"].map(part).into_iter().collect();
    call.filter(|_| is_call).map(|call| (id, call.into()))
}

/// The words of an item that is a message of the agent.
fn said(item: &Value) -> Option<String> {
    let is_message = item.get("type")?.as_str()? == "agentMessage";
    let text = item.get("text")?.as_str()?;
    is_message.then(|| text.to_owned())
}

/// The words of an error.
fn told(error: &Value) -> String {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    match (text("message"), text("additionalDetails")) {
        (Some(message), Some(details)) => format!("{message} ({details})"),
        (Some(message), None) => message.to_owned(),
        (None, _) => error.to_string(),
    }
}

/// The frames that set up a connection.
pub(super) fn hello() -> [Value; 2] {
    let client = json!({"name": "countersign", "title": "countersign",
        "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"clientInfo": client, "capabilities": {"experimentalApi": true}});
    [ours("initialize", "initialize", params), json!({"method": "initialized"})]
}

/// Asks for the threads in memory.
pub(super) fn loaded() -> Value {
    ours("thread/loaded/list", "loaded", json!({}))
}

/// Starts a thread; its settings are those of Codex's own config.
pub(super) fn start(cwd: Option<&str>) -> Value {
    ours("thread/start", "thread", json!({ "cwd": cwd }))
}

/// Starts a turn.
pub(super) fn prompt(thread: &str, text: &str) -> Value {
    let input = json!([{"type": "text", "text": text}]);
    ours("turn/start", "turn", json!({"threadId": thread, "input": input}))
}

/// Ends a turn.
pub(super) fn interrupt(thread: &str, turn: &str) -> Value {
    ours("turn/interrupt", "interrupted", json!({"threadId": thread, "turnId": turn}))
}

/// Asks how a thread is, without its history.
pub(super) fn look(thread: &str) -> Value {
    ours("thread/read", "thread", json!({"threadId": thread}))
}

/// Asks for the open requests of a thread, and for nothing else of it.
pub(super) fn resume(thread: &str) -> Value {
    ours("thread/resume", "thread", json!({"threadId": thread, "excludeTurns": true}))
}

/// The same with what it has done so far, because a request to change files does not say which.
pub(super) fn resume_with_items(thread: &str) -> Value {
    ours("thread/resume", "thread", json!({"threadId": thread}))
}

/// Leaves a thread, which sends every word of the model otherwise.
pub(super) fn leave(thread: &str) -> Value {
    ours("thread/unsubscribe", "left", json!({"threadId": thread}))
}

/// The ids of requests about a review begin with this.
pub(super) const REVIEW: &str = "review/";

/// Says who answers in the turn that runs, and in no other.
pub(super) fn set_reviewer(thread: &str, turn: &str, reviewer: Reviewer, id: &str) -> Value {
    let reviewer = match reviewer {
        Reviewer::Person => "user",
        Reviewer::Model => "auto_review",
    };
    let params = json!({"threadId": thread, "turnId": turn, "approvalsReviewer": reviewer});
    ours("turn/settings/update", id, params)
}

/// Tells the model that a person has approved what the reviewer denied.
pub(super) fn approve_denied(thread: &str, event: &Value, id: &str) -> Value {
    let params = json!({"threadId": thread, "event": event});
    ours("thread/approveGuardianDeniedAction", id, params)
}

/// Tells the model something in the turn that runs.
pub(super) fn tell(thread: &str, turn: &str, text: &str) -> Value {
    let input = json!([{"type": "text", "text": text}]);
    let params = json!({"threadId": thread, "expectedTurnId": turn, "input": input});
    ours("turn/steer", "told", params)
}

/// The reply to a request.
pub(super) fn answer(id: &Value, result: &Value) -> Value {
    json!({"id": id, "result": result})
}

fn ours(method: &str, id: &str, params: Value) -> Value {
    json!({"method": method, "id": format!("{OURS}{id}"), "params": params})
}
