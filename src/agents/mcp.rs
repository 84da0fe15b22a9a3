//! An MCP server with two tools: `approve` for Claude Code's `--permission-prompt-tool`, and
//! `ask_human`; and a gate in front of other servers. Pure; `cli::mcp` serves it on stdin and
//! stdout, `web::mcp` over HTTP, and `cli::mcp_proxy` runs the gate.
//!
//! Not `rmcp`: what passes the gate must be byte for byte what was decided on, and a message with a key
//! twice is refused; `rmcp` reads messages into its types and writes them anew.

mod proxy;
mod server;

use crate::line_head::LineHead;
pub use crate::mcp::{
    proxy::{ProxyAround, ProxySession},
    server::{Handled, McpServer, PendingTool, VERSIONS},
};
use countersign_domain::exact_json;
use serde_json::{Map, Value, json};

/// The text is not JSON.
const PARSE_ERROR: i64 = -32700;
/// The JSON is not a message.
const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
const NO_METHOD: i64 = -32601;
/// The parameters are wrong.
const INVALID_PARAMS: i64 = -32602;

/// A message of the client.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage {
    /// It expects a reply.
    Request {
        /// The id to repeat: a text or a number.
        id: Value,
        /// The method.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
    /// It expects no reply.
    Notification {
        /// The method.
        method: String,
        /// Its parameters.
        params: Map<String, Value>,
    },
    /// A reply; this server asks nothing, so it means nothing.
    Response,
}

/// Reads the messages of one text: one, or those of a batch, each with its own error.
#[must_use]
pub fn read(text: &[u8]) -> Vec<Result<RpcMessage, Value>> {
    let value = match exact_json::from_slice(text) {
        Ok(value) => value,
        Err(error) => {
            let refused =
                |id: &Value, code, what| Err(error_reply(id, code, &format!("{what}: {error}")));
            return match LineHead::read(text) {
                LineHead::NotJson => vec![refused(&Value::Null, PARSE_ERROR, "this is not JSON")],
                LineHead::Ambiguous => {
                    vec![refused(&Value::Null, INVALID_REQUEST, "this cannot be read")]
                }
                // Under its id, so that its sender does not wait for ever.
                LineHead::Messages(heads) => heads
                    .into_iter()
                    .map(|head| head.id.filter(is_id).unwrap_or_default())
                    .map(|id| refused(&id, INVALID_REQUEST, "this cannot be read"))
                    .collect(),
            };
        }
    };
    match value {
        Value::Array(batch) if !batch.is_empty() => batch.into_iter().map(message).collect(),
        other => vec![message(other)],
    }
}

/// A reply that reports an error.
#[must_use]
pub fn error_reply(id: &Value, code: i64, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}})
}

/// A reply with a result.
fn result_reply(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn message(value: Value) -> Result<RpcMessage, Value> {
    let Value::Object(mut fields) = value else {
        return Err(invalid(&Value::Null, "a message is a JSON object"));
    };
    let id = fields.remove("id");
    let known = id.clone().filter(is_id).unwrap_or_default();
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid(&known, "`jsonrpc` is not \"2.0\""));
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        None if fields.contains_key("result") || fields.contains_key("error") => {
            return Ok(RpcMessage::Response);
        }
        _ => return Err(invalid(&known, "`method` is missing, or is not a text")),
    };
    let params = match fields.remove("params") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(invalid(&known, "`params` is not an object")),
    };
    match id {
        None => Ok(RpcMessage::Notification { method, params }),
        Some(id) if is_id(&id) => Ok(RpcMessage::Request { id, method, params }),
        Some(_) => Err(invalid(&Value::Null, "`id` is neither a text nor a number")),
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}

fn invalid(id: &Value, why: &str) -> Value {
    error_reply(id, INVALID_REQUEST, why)
}

#[cfg(test)]
mod tests;
