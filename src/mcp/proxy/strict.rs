//! Reads a client's line so that nothing in it can be a tool call for the server and something else
//! for us.

use crate::agents::line_head::{LineHead, is_misspelt};
use serde_json::{Map, Value};

/// The method that is decided on.
const CALL: &str = "tools/call";
/// What other readers may take.
const UNREADABLE: &str = "it holds a number out of range, half of a surrogate pair, too many \
                          levels, or bytes that are no UTF-8";

/// A line of the client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientLine {
    /// Nothing but whitespace.
    Blank,
    /// One message or a batch, without a tool call.
    Other(Vec<Map<String, Value>>),
    /// The request with this id is cancelled.
    Cancel(Value),
    /// Tool calls, and the other messages of their batch.
    Calls {
        /// The calls, each with an id.
        calls: Vec<Map<String, Value>>,
        /// What came with them.
        others: Vec<Map<String, Value>>,
    },
    /// It must not reach the server.
    Refused {
        /// The id to report it under.
        id: Value,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Reads a line.
// SECURITY: a server may take the first of two equal fields where we take the last, compare names
// without case (Go), end a line at a carriage return (Python, Node), or read what is no JSON.
pub(super) fn read(line: &[u8]) -> ClientLine {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return ClientLine::Blank;
    }
    let refused = |why| ClientLine::Refused { id: Value::Null, why };
    if line.contains(&b'\r') || line.contains(&b'\n') {
        return refused(
            "it holds a carriage return, which some servers take for the end of a line",
        );
    }
    let head = LineHead::read(line);
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return match head {
            LineHead::NotJson => refused("it is not JSON"),
            // Under its id, so that its sender does not wait for ever.
            LineHead::Messages(heads) if heads.len() == 1 => ClientLine::Refused {
                id: heads.into_iter().next().and_then(|head| head.id).unwrap_or_default(),
                why: UNREADABLE,
            },
            LineHead::Messages(_) | LineHead::Ambiguous => refused(UNREADABLE),
        };
    };
    let messages = match value {
        Value::Object(message) => vec![message],
        Value::Array(batch) => {
            let batch = batch.into_iter().map(|message| match message {
                Value::Object(message) => Some(message),
                _ => None,
            });
            match batch.collect::<Option<Vec<_>>>() {
                Some(batch) if !batch.is_empty() => batch,
                _ => return refused("a batch holds objects"),
            }
        }
        _ => return refused("a message is a JSON object"),
    };
    if head == LineHead::Ambiguous {
        return refused("a field of JSON-RPC comes twice, or differs in case only");
    }
    sorted(messages)
}

fn sorted(messages: Vec<Map<String, Value>>) -> ClientLine {
    let method = |message: &Map<String, Value>| {
        message.get("method").and_then(Value::as_str).map(str::to_owned)
    };
    if let [message] = messages.as_slice()
        && method(message).as_deref() == Some("notifications/cancelled")
        && let Some(request) = message.get("params").and_then(|params| params.get("requestId"))
    {
        return ClientLine::Cancel(request.clone());
    }
    let (calls, others): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|message| method(message).as_deref() == Some(CALL));
    if calls.is_empty() {
        return ClientLine::Other(others);
    }
    for call in &calls {
        let id = call.get("id").cloned().unwrap_or_default();
        if !(id.is_string() || id.is_number()) {
            let why = "a tool call needs an id, a text or a number";
            return ClientLine::Refused { id: Value::Null, why };
        }
        let params = call.get("params").and_then(Value::as_object);
        if params.is_none_or(|params| misspelt(params, &["name", "arguments", "_meta"])) {
            let why = "`params` is no object, or a field of it differs in case only";
            return ClientLine::Refused { id, why };
        }
    }
    ClientLine::Calls { calls, others }
}

/// Returns whether a field differs from one of these names in case only.
fn misspelt(fields: &Map<String, Value>, names: &[&str]) -> bool {
    fields.keys().any(|field| is_misspelt(field, names))
}
