//! Reads a client's line so that nothing in it can be a tool call for the server and something else
//! for us.

use crate::line_head::LineHead;
use countersign_domain::exact_json;
use serde_json::{Map, Value, json};

/// The method that is decided on.
const CALL: &str = "tools/call";

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
        /// The calls as they go to the server, each with an id.
        calls: Vec<Map<String, Value>>,
        /// What came with them.
        others: Vec<Map<String, Value>>,
    },
    /// It must not reach the server.
    Refused {
        /// The id to report it under.
        id: Value,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads a line.
// SECURITY: a server may take the first of two equal fields where we take the last, compare names
// without case (Go), keep more digits of a number, end a line at a carriage return (Python, Node), or
// read what is no JSON.
pub(super) fn read(line: &[u8]) -> ClientLine {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return ClientLine::Blank;
    }
    let refused = |why: &str| ClientLine::Refused { id: Value::Null, why: why.to_owned() };
    if line.contains(&b'\r') || line.contains(&b'\n') {
        return refused(
            "it holds a carriage return, which some servers take for the end of a line",
        );
    }
    let head = LineHead::read(line);
    let value = match exact_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(error) => {
            return match head {
                LineHead::NotJson => refused("it is not JSON"),
                // Under its id, so that its sender does not wait for ever.
                LineHead::Messages(heads) if heads.len() == 1 => ClientLine::Refused {
                    id: heads.into_iter().next().and_then(|head| head.id).unwrap_or_default(),
                    why: error.to_string(),
                },
                LineHead::Messages(_) | LineHead::Ambiguous => refused(&error.to_string()),
            };
        }
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
    let read: Result<Vec<_>, _> = calls.into_iter().map(shown).collect();
    match read {
        Ok(calls) => ClientLine::Calls { calls, others },
        Err((id, why)) => ClientLine::Refused { id, why },
    }
}

/// A tool call, made again of what a card shows, its id and the token of its progress.
///
/// # Errors
/// The id to report it under, and what is wrong with it.
// SECURITY: nobody decides on anything else in it. What may change the call is refused; what is said
// beside it (`_meta`, which clients fill by themselves) is left out.
fn shown(mut call: Map<String, Value>) -> Result<Map<String, Value>, (Value, String)> {
    let id = call.remove("id").unwrap_or_default();
    if !(id.is_string() || id.is_number()) {
        return Err((Value::Null, "a tool call needs an id, a text or a number".to_owned()));
    }
    let Some(Value::Object(mut params)) = call.remove("params") else {
        return Err((id, "`params` is not an object".to_owned()));
    };
    let mut sent = Map::new();
    for name in ["name", "arguments"] {
        sent.extend(params.remove(name).map(|value| (name.to_owned(), value)));
    }
    let token = params.remove("_meta").and_then(|mut meta| {
        let token = meta.get_mut("progressToken").map(Value::take)?;
        let is_token = token.is_i64() || token.is_u64() || token.as_str().is_some_and(is_short);
        is_token.then_some(token)
    });
    sent.extend(token.map(|token| ("_meta".to_owned(), json!({ "progressToken": token }))));
    for known in ["jsonrpc", "method"] {
        call.remove(known);
    }
    match params.keys().chain(call.keys()).next() {
        Some(other) => {
            let why = format!(
                "`{}` of a tool call is shown to nobody; only `name` and `arguments` are decided on",
                other
            );
            Err((id, why))
        }
        None => {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": CALL, "params": sent});
            Ok(call.as_object().cloned().unwrap_or_default())
        }
    }
}

fn is_short(token: &str) -> bool {
    token.len() <= 200
}
