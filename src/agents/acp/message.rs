//! JSON-RPC 2.0 lines of the protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The agent's request for permission.
pub(super) const PERMISSION: &str = "session/request_permission";
/// The agent's form for a person.
pub(super) const FORM: &str = "elicitation/create";
/// News about a session, such as its tool calls.
pub(super) const UPDATE: &str = "session/update";
/// The editor ends the turn.
pub(super) const CANCEL: &str = "session/cancel";
/// Either side takes a request back.
pub(super) const CANCEL_REQUEST: &str = "$/cancel_request";

/// A message, as far as the proxy needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct AcpMessage {
    #[serde(default)]
    pub(super) id: Value,
    #[serde(default)]
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Map<String, Value>,
    #[serde(default)]
    pub(super) result: Value,
    #[serde(default)]
    pub(super) error: Value,
}

impl AcpMessage {
    /// Reads one message. What cannot be read concerns the other side alone.
    pub(super) fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Whether it is a request of this method.
    pub(super) fn asks_for(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method) && !self.id.is_null()
    }

    pub(super) fn is_reply(&self) -> bool {
        self.method.is_none() && !self.id.is_null()
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }
}

/// A line with a result.
pub(super) fn reply(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// A line that refuses a request which cannot be read.
pub(super) fn refusal(id: &Value) -> String {
    let message = "countersign cannot read this request, so it is not allowed";
    let error = json!({ "code": -32602, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

/// A line with a notification.
pub(super) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}
