//! An ask as the API shows it.

use crate::{
    clock,
    gate::{
        Gate,
        ask::{Answer, Ask, Decision, State},
    },
};
use serde_json::{Value, json};

/// The ask as JSON. `verdict` and `reason` are there once it is no longer open.
#[must_use]
pub fn view(ask: &Ask) -> Value {
    let mut view = json!({
        "id": ask.id,
        "state": ask.state.name(),
        "call": ask.body.call,
        "digest": ask.digest,
        "why": ask.body.why,
        "created": clock::rfc3339(ask.created_at),
    });
    let mut put = |key: &str, value: Value| {
        if let Some(map) = view.as_object_mut() {
            map.insert(key.to_owned(), value);
        }
    };
    if let Some(deadline) = ask.deadline_at {
        put("deadline", clock::rfc3339(deadline).into());
    }
    if let Some(meta) = &ask.body.call.meta {
        put("meta", meta.clone());
    }
    if !ask.body.always.is_empty() {
        let rules: Vec<_> = ask.body.always.iter().map(ToString::to_string).collect();
        put("always", rules.into());
    }
    if !ask.body.effects.is_empty() {
        put("effects", ask.body.effects.clone().into());
    }
    if let Some(answer) = ask.answer() {
        put("verdict", verdict(answer).into());
        put("reason", reason(ask, answer).into());
        put("answer", answered(answer));
    }
    view
}

/// The ask with the words for the agent's model.
pub(super) fn told(gate: &Gate, ask: &Ask) -> Value {
    with_message(view(ask), gate.told(ask))
}

/// What a call gets that was asked about.
#[must_use]
pub(super) fn ruled(gate: &Gate, ask: &Ask) -> Value {
    let Some(answer) = ask.answer() else {
        return json!({"verdict": "ask", "ask": ask.id, "state": "open"});
    };
    let ruled = json!({
        "verdict": verdict(answer),
        "reason": reason(ask, answer),
        "ask": ask.id,
        "state": ask.state.name(),
        "answer": answered(answer),
    });
    with_message(ruled, gate.told(ask))
}

/// Adds the words for the agent's model, where its system has any.
pub(super) fn with_message(mut view: Value, message: Option<String>) -> Value {
    if let (Some(map), Some(message)) = (view.as_object_mut(), message) {
        map.insert("message".to_owned(), message.into());
    }
    view
}

/// Who decided, in words for the agent: never "the user" where no user was asked.
fn reason(ask: &Ask, answer: &Answer) -> String {
    let why = answer.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    match (&ask.state, answer.decision) {
        (State::Expired(_), _) => why.unwrap_or("nobody answered in time").to_owned(),
        (State::Cancelled(_), _) => format!("cancelled: {}", why.unwrap_or("its caller left")),
        (_, Decision::Answer) => format!("answered by {}", answer.by),
        (_, Decision::Approve) => format!("approved by {}", answer.by),
        (_, Decision::Deny) => match why {
            Some(why) => format!("denied by {}: {why}", answer.by),
            None => format!("denied by {}", answer.by),
        },
    }
}

fn verdict(answer: &Answer) -> &'static str {
    match answer.decision {
        Decision::Approve => "allow",
        // SECURITY: never `allow`, so that no client takes an answer for leave to run something.
        Decision::Answer => "answered",
        Decision::Deny => "deny",
    }
}

fn answered(answer: &Answer) -> Value {
    let mut value = json!(answer);
    if let Some(map) = value.as_object_mut() {
        map.insert("at".to_owned(), clock::rfc3339(answer.at).into());
    }
    value
}
