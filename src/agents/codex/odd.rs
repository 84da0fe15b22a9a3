//! Requests of an app-server of our own that cannot be read.

use super::refusal::METHODS;
use crate::line_head::{LineHead, MessageHead};
use countersign_domain::exact_json;
use serde_json::Value;

/// A request that cannot be read.
#[derive(Debug, PartialEq)]
pub(super) struct OddRequest {
    /// Its id, where Codex knows it again.
    pub id: Option<Value>,
    /// What it asks for, where that can be read.
    pub method: Option<String>,
    /// What is wrong with it.
    pub why: &'static str,
}

/// The requests of a line that cannot be read, and an end of the turn that cannot be; none for
/// every other line.
// FAIL-CLOSED: Codex waits for ever for the answer to a request that is passed over.
pub(super) fn odd(line: &[u8]) -> Vec<OddRequest> {
    let unknown = |why| vec![OddRequest { id: None, method: None, why }];
    match LineHead::read(line) {
        LineHead::NotJson => {
            let text = String::from_utf8_lossy(line);
            match METHODS.iter().any(|method| text.contains(method)) {
                true => unknown("it is not valid JSON"),
                false => Vec::new(),
            }
        }
        LineHead::Ambiguous => unknown("it has a field that comes twice, or one like it"),
        LineHead::Messages(heads) => {
            let wrong = wrong(line);
            let odd = heads.into_iter().filter_map(|head| of(head, wrong));
            odd.collect()
        }
    }
}

fn of(head: MessageHead, wrong: Option<&'static str>) -> Option<OddRequest> {
    let MessageHead { method, id } = head;
    let id = id.filter(|id| !id.is_null());
    let is_known = method.as_deref().is_some_and(|method| METHODS.contains(&method));
    let is_end = method.as_deref() == Some("turn/completed");
    let counts = id.is_some() || is_known || is_end;
    let asks = is_known || (id.is_some() && method.is_some());
    // Codex has no others.
    let known_again = id.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let why = match (wrong, &known_again) {
        (Some(wrong), _) if counts => wrong,
        (None, None) if asks => "it has no id that is a text or a whole number",
        _ => return None,
    };
    Some(OddRequest { id: known_again, method, why })
}

/// What is wrong with a line, whatever it is.
fn wrong(line: &[u8]) -> Option<&'static str> {
    let message = match exact_json::from_slice(line) {
        Ok(Value::Object(message)) => message,
        Ok(Value::Array(_)) => return Some("it comes in a batch"),
        Ok(_) => return None,
        Err(_) => {
            return Some("a value in it cannot be kept as it is, or a name in it comes twice");
        }
    };
    let is = |name: &str, right: fn(&Value) -> bool| message.get(name).is_none_or(right);
    if !is("method", |method| method.is_string() || method.is_null()) {
        return Some("its method is not a string");
    }
    if !is("params", Value::is_object) && message.contains_key("method") {
        return Some("its parameters are not an object");
    }
    None
}
