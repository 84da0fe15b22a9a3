//! The outside of Claude Code's control requests: who answers them, and those that nobody can read.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The request that asks for permission.
const PROMPT: &str = "can_use_tool";

/// A control request.
pub(super) enum ControlRequest<'l> {
    /// It asks for permission.
    Prompt {
        /// Its id.
        id: Value,
        /// What it asks.
        request: &'l Map<String, Value>,
    },
    /// Our own host answers it, such as a hook that it registered.
    OfHost,
    /// Nobody can answer it as it is.
    Unreadable(UnreadableRequest),
}

/// A request that nobody can answer as it is.
#[derive(Debug)]
pub(super) struct UnreadableRequest {
    /// Its id, where it has one.
    pub(super) id: Option<Value>,
    /// Whether it asks for permission, or may.
    pub(super) is_prompt: bool,
    /// What is wrong with it.
    pub(super) why: String,
}

/// Tells who answers a request.
pub(super) fn of(line: &Map<String, Value>, has_host: bool) -> ControlRequest<'_> {
    let id = line.get("request_id").cloned().filter(is_id);
    let request = line.get("request").and_then(Value::as_object);
    let subtype = request.and_then(|request| request.get("subtype")?.as_str());
    let (is_prompt, why) = match (request, subtype, &id) {
        (Some(request), Some(PROMPT), Some(id)) => {
            return ControlRequest::Prompt { id: id.clone(), request };
        }
        (_, Some(PROMPT), _) => (true, "`request_id` is missing, or is not a string".to_owned()),
        (_, Some(_), _) if has_host => return ControlRequest::OfHost,
        (_, Some(other), _) => (false, format!("nobody is there who answers `{other}`")),
        (_, None, _) => (true, "it does not say what it asks".to_owned()),
    };
    ControlRequest::Unreadable(UnreadableRequest { id, is_prompt, why })
}

/// Tells whether a line that does not parse is a control request. The values that break it, such as
/// half of a surrogate pair or arguments that are nested too deeply, are not looked at here.
pub(super) fn broken(line: &[u8], error: &serde_json::Error) -> Option<UnreadableRequest> {
    #[derive(Deserialize)]
    struct LineOutside {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        request_id: Value,
    }
    let id = match serde_json::from_slice::<LineOutside>(line) {
        Ok(outside) if outside.kind == "control_request" => Some(outside.request_id).filter(is_id),
        Ok(_) => return None,
        Err(_) => {
            let text = String::from_utf8_lossy(line);
            text.contains("\"control_request\"").then_some(())?;
            spelled_id(&text)
        }
    };
    Some(UnreadableRequest { id, is_prompt: true, why: error.to_string() })
}

/// The id in a text that is no JSON.
fn spelled_id(text: &str) -> Option<Value> {
    let (_, rest) = text.split_once("\"request_id\"")?;
    let text = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    text.split_once('"').map(|(id, _)| id.into())
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_number()
}
