//! ConnectOnion's wire: `GET /v1/connectonion`, a WebSocket with the protocol between the tool
//! approval plugin of its agents and their clients.
//!
//! With the agent's handle, the daemon acts as a client towards the agent: a call of the plugin
//! becomes an ask, and the answer is sent back. With the approver's handle, it acts as the agent
//! towards a client: open asks are sent one at a time, and the client may answer them.

mod agent;
mod client;
mod wire;

use crate::{Api, connections::Connection, handle::Handle};
use axum::{
    Extension, Router,
    extract::{Query, WebSocketUpgrade, ws},
    response::Response,
    routing::get,
};
use countersign_domain::{Owner, exact_json};
use countersign_gate::{
    call::{Batch, Behind, Call},
    question::{Choice, Question},
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// The largest frame, in bytes.
const LARGEST: usize = 1 << 20;

/// The route of the wire.
pub(super) fn routes() -> Router<Api> {
    Router::new().route("/v1/connectonion", get(connect))
}

/// Upgrades the request to a WebSocket.
async fn connect(
    api: Api,
    handle: Handle,
    Extension(owner): Extension<Owner>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(whose): Query<ConnectionParams>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let whose = ConnectionParams { owner: Some(owner), ..whose };
    // The router's limit covers bodies of requests, not messages of a WebSocket.
    upgrade.max_message_size(LARGEST).on_upgrade(move |socket| async move {
        // SECURITY: an upgraded connection keeps its place, so it counts until it ends.
        let _place = connection;
        match handle.answerer() {
            Ok(who) => client::serve(&api, socket, whose, who).await,
            Err(_) => agent::serve(&api, socket, whose).await,
        }
    })
}

// One connection: its parameters, and its frames in both directions.

/// The parameters of a connection, from the query: `?agent=shop-bot&session=7`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionParams {
    /// The agent's name on cards.
    #[serde(default = "nameless")]
    pub(super) agent: String,
    /// The session of frames that name none.
    pub(super) session: Option<String>,
    /// The agent's working directory.
    pub(super) cwd: Option<String>,
    /// The trust level of the person for whom the agent works, as its host rates it.
    pub(super) requester: Option<String>,
    /// The owner of this connection's sessions.
    #[serde(skip)]
    pub(super) owner: Option<Owner>,
}

fn nameless() -> String {
    "connectonion".to_owned()
}

/// A message received on a connection.
pub(super) enum IncomingFrame {
    /// A frame.
    Frame(Value),
    /// Not a frame; the sentence gives the reason.
    Malformed(String),
    /// A ping or pong, which needs no action.
    Idle,
    /// The connection is closed.
    Closed,
}

/// Decodes a message of the socket.
pub(super) fn incoming(message: Option<Result<ws::Message, axum::Error>>) -> IncomingFrame {
    match message {
        None | Some(Err(_) | Ok(ws::Message::Close(_))) => IncomingFrame::Closed,
        Some(Ok(ws::Message::Ping(_) | ws::Message::Pong(_))) => IncomingFrame::Idle,
        Some(Ok(ws::Message::Binary(_))) => {
            IncomingFrame::Malformed("frames are JSON texts; this one is binary".to_owned())
        }
        Some(Ok(ws::Message::Text(text))) => match exact_json::from_str(&text) {
            Ok(frame @ Value::Object(_)) => IncomingFrame::Frame(frame),
            Ok(_) => IncomingFrame::Malformed("a frame is a JSON object".to_owned()),
            Err(error) => IncomingFrame::Malformed(format!("the frame is not valid JSON: {error}")),
        },
    }
}

/// Encodes a frame.
pub(super) fn text(frame: &Value) -> ws::Message {
    ws::Message::Text(frame.to_string().into())
}

// Decodes the frames of agents. Pure.

/// A frame of an agent.
#[derive(Debug)]
pub(super) enum AgentMessage {
    /// A tool call or a question, whose agent waits.
    Call(Box<Call>),
    /// Progress, output or thoughts, which need no answer.
    Notice,
}

/// Decodes an agent's frame.
///
/// # Errors
/// A sentence that names what is wrong with the frame.
pub(super) fn decode(frame: &Value, whose: &ConnectionParams) -> Result<AgentMessage, String> {
    let kind = frame.get("type").and_then(Value::as_str);
    let kind = kind.ok_or("a frame has a `type`, which is a text")?;
    match kind {
        "approval_needed" => approval(frame, whose).map(Box::new).map(AgentMessage::Call),
        "ask_user" => question(frame, whose).map(Box::new).map(AgentMessage::Call),
        // Unknown types are notices too: an error frame can be read as a hard rejection, so it must
        // not reply to progress or output.
        _ => Ok(AgentMessage::Notice),
    }
}

fn approval(frame: &Value, whose: &ConnectionParams) -> Result<Call, String> {
    let tool = required(frame, "tool")?;
    let args = match frame.get("arguments") {
        Some(args @ Value::Object(_)) => args.clone(),
        _ => return Err("approval_needed: `arguments` is an object".to_owned()),
    };
    let behind = match frame.get("batch_remaining") {
        None | Some(Value::Null) => None,
        Some(list) => {
            Some(serde_json::from_value::<Vec<Behind>>(list.clone()).map_err(|error| {
                format!(
                    "approval_needed: `batch_remaining` has tools with their arguments: {error}"
                )
            })?)
        }
    };
    let policy = frame.get("policy").filter(|policy| policy.is_object());
    let of_policy = |name: &str| policy.and_then(|policy| policy.get(name)?.as_str());
    let reason = of_policy("reason").map(|reason| match of_policy("effect_class") {
        Some(effect) => format!("{effect}: {reason}"),
        None => reason.to_owned(),
    });
    Ok(Call {
        reason,
        description: optional(frame, "description")?,
        batch_remaining: behind.map(Batch::Calls),
        ..call(frame, whose, tool, args)?
    })
}

/// The fields that calls and questions share.
fn call(frame: &Value, whose: &ConnectionParams, tool: &str, args: Value) -> Result<Call, String> {
    let session = optional(frame, "session_id")?.or_else(|| whose.session.clone());
    let level = match frame.get("requester") {
        None | Some(Value::Null) => whose.requester.clone(),
        // FAIL-CLOSED: a requester without a level is a stranger.
        Some(requester) => {
            Some(requester.get("level").and_then(Value::as_str).unwrap_or("unknown").to_owned())
        }
    };
    let key = match optional(frame, "tool_call_id")? {
        Some(id) => Some(id),
        None => optional(frame, "id")?,
    };
    Ok(Call {
        key,
        cwd: whose.cwd.clone(),
        requester: level,
        ..Call::new(&whose.agent, session.unwrap_or_else(|| "unnamed".to_owned()), tool, args)
    })
}

/// Decodes `ask_user`: its question, then one for every field.
fn question(frame: &Value, whose: &ConnectionParams) -> Result<Call, String> {
    let asked = match frame.get("question") {
        Some(_) => required(frame, "question")?,
        None => required(frame, "text")?,
    };
    let multi_select = match frame.get("multi_select") {
        None | Some(Value::Null) => false,
        Some(several) => several.as_bool().ok_or("ask_user: `multi_select` is true or false")?,
    };
    let options = list(frame, "options")?.iter().map(option).collect::<Result<Vec<_>, _>>()?;
    let fields = list(frame, "fields")?;
    let mut questions = Vec::new();
    // With fields and no options, the text is only their heading.
    if fields.is_empty() || !options.is_empty() {
        let question = asked.to_owned();
        questions.push(Question { question, header: None, multi_select, options });
    }
    for field in fields {
        let label = required(field, "label").or_else(|_| required(field, "name"))?;
        // SECURITY: a password is refused, because what is typed into a chat stays there.
        if field.get("type").and_then(Value::as_str) == Some("password") {
            return Err(format!(
                "ask_user: `{label}` is a password, and passwords are not asked for in a chat"
            ));
        }
        let header = Some(asked.to_owned());
        let question = label.to_owned();
        questions.push(Question { question, header, multi_select: false, options: Vec::new() });
    }
    // Only the question's own fields: the digest covers `args`, and people see them.
    let mut args = frame.clone();
    if let Some(args) = args.as_object_mut() {
        args.retain(|name, _| {
            ["question", "text", "options", "multi_select", "fields"].contains(&name.as_str())
        });
    }
    Ok(Call { questions, ..call(frame, whose, "ask_user", args)? })
}

fn option(option: &Value) -> Result<Choice, String> {
    let label = option.as_str().or_else(|| option.get("label")?.as_str());
    let label = label.ok_or("ask_user: `options` are texts")?.to_owned();
    Ok(Choice { label, description: None, preview: None })
}

fn list<'v>(frame: &'v Value, name: &str) -> Result<&'v [Value], String> {
    match frame.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{name}` is a list")),
    }
}

fn required<'v>(frame: &'v Value, name: &str) -> Result<&'v str, String> {
    let text = frame.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("`{name}` is missing; it is a text that is not empty"))
}

fn optional(frame: &Value, name: &str) -> Result<Option<String>, String> {
    match frame.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("`{name}` is a text")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::json;

    fn call(frame: &Value) -> Call {
        let whose: ConnectionParams =
            serde_json::from_value(json!({ "agent": "shop-bot", "session": "seven" })).unwrap();
        match decode(frame, &whose).unwrap() {
            AgentMessage::Call(call) => *call,
            AgentMessage::Notice => panic!("{frame} wants nothing"),
        }
    }

    #[test]
    fn a_request_names_its_session_its_requester_and_what_policy_said_of_it() {
        let call = call(&json!({
            "type": "approval_needed", "id": "e1", "tool_call_id": "c1", "session_id": "eight",
            "tool": "bash", "arguments": { "command": "ls" }, "requester": { "level": null },
            "policy": { "reason": "unknown tools never run silently", "effect_class": "unknown" },
            "batch_remaining": [{ "tool": "write", "arguments": "{}" }],
        }));
        let wanted = Call {
            key: Some("c1".into()),
            requester: Some("unknown".into()),
            reason: Some("unknown: unknown tools never run silently".into()),
            batch_remaining: Some(Batch::Calls(vec![Behind {
                tool: "write".into(),
                arguments: "{}".into(),
            }])),
            ..Call::new("shop-bot", "eight", "bash", json!({ "command": "ls" }))
        };
        assert_eq!(call, wanted);
    }

    #[test]
    fn a_notice_of_the_agent_wants_nothing() {
        let whose = serde_json::from_value(json!({})).unwrap();
        for frame in [
            json!({ "type": "thinking" }),
            json!({ "type": "APPROVAL_RESPONSE", "approved": true }),
        ] {
            assert!(matches!(decode(&frame, &whose), Ok(AgentMessage::Notice)), "{frame}");
        }
    }
}
