//! The agent's tool calls, as its updates told of them. A permission request may name its call and
//! leave out what was told before.

use super::message::AcpMessage;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// How many calls are remembered.
const MOST: usize = 64;
/// The largest call that is remembered, in bytes.
const LARGEST: usize = 1 << 20;

/// The latest calls.
#[derive(Debug, Default)]
pub(super) struct ToolCalls(VecDeque<(CallName, Map<String, Value>)>);

/// The session and the id of a call.
type CallName = (String, String);

impl ToolCalls {
    /// Takes note of an update, if it tells of a tool call.
    pub(super) fn note(&mut self, update: &AcpMessage, size: usize) {
        let told = update.params.get("update").and_then(Value::as_object);
        let Some((session, told)) = update.text("sessionId").zip(told) else { return };
        let kind = told.get("sessionUpdate").and_then(Value::as_str);
        if !matches!(kind, Some("tool_call" | "tool_call_update")) || size > LARGEST {
            return;
        }
        let mut fields = told.clone();
        fields.remove("sessionUpdate");
        let Some(name) = name(session, &fields) else { return };
        let whole = self.whole(&name, fields);
        self.0.retain(|(known, _)| *known != name);
        self.0.push_back((name, whole));
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// The call of a permission request, with what was told of it before.
    pub(super) fn of(&self, session: &str, call: &Map<String, Value>) -> Map<String, Value> {
        match name(session, call) {
            Some(name) => self.whole(&name, call.clone()),
            None => call.clone(),
        }
    }

    /// These fields over those that are known.
    fn whole(&self, name: &CallName, fields: Map<String, Value>) -> Map<String, Value> {
        let known = self.0.iter().find(|(known, _)| known == name);
        let mut whole = known.map(|(_, known)| known.clone()).unwrap_or_default();
        whole.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        whole
    }
}

fn name(session: &str, call: &Map<String, Value>) -> Option<CallName> {
    let id = call.get("toolCallId").and_then(Value::as_str)?;
    Some((session.to_owned(), id.to_owned()))
}
