//! Encodes the frames that ConnectOnion receives. Pure.

use countersign_gate::{
    ask::{Answer, Ask, Decision, Scope, State},
    call::Call,
    question::Question,
};
use countersign_policy::{self as policy, Verdict};
use countersign_profiles::{OnDeny, connectonion::PromptAnswer as Said};
use countersign_tokens::clock;
use serde_json::{Map, Value, json};

/// The base of an answer to a waiting agent, for calls and questions.
fn answer(call: &Call, approved: bool) -> Map<String, Value> {
    let kind = if call.questions.is_empty() { "APPROVAL_RESPONSE" } else { "ASK_USER_RESPONSE" };
    let mut frame = Map::from_iter([("type".to_owned(), kind.into())]);
    frame.extend(call.key.as_ref().map(|key| ("tool_call_id".to_owned(), key.as_str().into())));
    if call.questions.is_empty() {
        frame.insert("approved".to_owned(), approved.into());
        frame.insert("scope".to_owned(), "once".into());
    }
    frame
}

/// The frame for a call that policy decided at once.
pub(super) fn of_ruling(call: &Call, ruling: &policy::Decision, message: Option<String>) -> Value {
    let allowed = ruling.verdict == Verdict::Allow;
    let mut frame = answer(call, allowed);
    if !allowed {
        let feedback = format!("countersign's policy, not a person: {}", ruling.reason);
        refuse(&mut frame, OnDeny::GoOn, &feedback, message);
    }
    Value::Object(frame)
}

/// The scope of an approval that is reported to the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reported {
    /// This call only. The daemon remembers the grant, and is asked again.
    Once,
    /// The chosen scope, as ConnectOnion's own clients report it.
    Scope,
}

/// The frame for a closed ask.
// SECURITY: a plugin that receives `session` never asks about the tool again, not even for critical
// calls, and then no guardrail and no revoked grant is checked.
pub(super) fn of_ask(ask: &Ask, message: Option<String>, reported: Reported) -> Value {
    let call = &ask.body.call;
    let Some(given) = ask.answer() else { return Value::Object(answer(call, false)) };
    let mut frame = answer(call, given.decision == Decision::Approve);
    frame.insert("by".to_owned(), given.by.to_string().into());
    match given.decision {
        Decision::Answer => {
            let answers = given.answers.as_ref().map(|answers| answered(call, answers));
            frame.insert("answer".to_owned(), answers.unwrap_or_default());
        }
        Decision::Approve => {
            if reported == Reported::Scope && given.scope == Some(Scope::Session) {
                frame.insert("scope".to_owned(), "session".into());
            }
        }
        // FAIL-CLOSED: this wire has no way to run something else.
        Decision::Edit | Decision::Deny => {
            refuse(&mut frame, then(ask, given), &feedback(ask, given), message)
        }
    }
    Value::Object(frame)
}

/// The person's choice. Any other end stops the turn, because nobody is there to continue with.
fn then(ask: &Ask, given: &Answer) -> OnDeny {
    match ask.state {
        State::Answered(_) => given.then,
        State::Open | State::Expired(_) | State::Cancelled(_) => OnDeny::Stop,
    }
}

fn refuse(frame: &mut Map<String, Value>, then: OnDeny, feedback: &str, message: Option<String>) {
    if frame.contains_key("approved") {
        frame.insert("mode".to_owned(), Said::mode(then).into());
        frame.insert("feedback".to_owned(), feedback.into());
        frame.extend(message.map(|message| ("message".to_owned(), message.into())));
    } else {
        let answer = message.unwrap_or_else(|| feedback.to_owned());
        frame.insert("answer".to_owned(), answer.into());
    }
}

/// The person's words, or which other end the ask had.
fn feedback(ask: &Ask, given: &Answer) -> String {
    let words = given.reason.clone().unwrap_or_default();
    match ask.state {
        State::Answered(_) | State::Open => words,
        State::Expired(_) => format!("No person decided: {words}"),
        State::Cancelled(_) => format!("No person decided: it was cancelled, {words}"),
    }
}

/// The answer to the question. With fields: theirs by name, and the question's own as `answer`.
fn answered(call: &Call, answers: &Map<String, Value>) -> Value {
    let fields = call.args.get("fields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of = |question: &Question| answers.get(&question.question).cloned().unwrap_or_default();
    let Some((first, rest)) = call.questions.split_first() else { return Value::Null };
    if fields.is_empty() {
        return of(first);
    }
    let own = (call.questions.len() > fields.len()).then(|| ("answer".to_owned(), of(first)));
    let asked = if own.is_some() { rest } else { &call.questions };
    let named = fields.iter().zip(asked).map(|(field, question)| {
        let name = field.get("name").or_else(|| field.get("label")).and_then(Value::as_str);
        (name.unwrap_or_default().to_owned(), of(question))
    });
    Value::Object(own.into_iter().chain(named).collect())
}

/// An error. An agent that reads it as an approval reads a hard rejection; as the answer to a
/// question, why there is none.
pub(super) fn error(sentence: &str) -> Value {
    json!({
        "type": "ERROR", "message": sentence,
        "approved": false, "mode": "reject_hard", "feedback": sentence,
        "answer": format!("Not answered: {sentence}"),
    })
}

/// An open ask as a client of ConnectOnion receives it.
pub(super) fn shown(ask: &Ask) -> Value {
    let call = &ask.body.call;
    let mut frame = json!({
        "id": ask.id,
        "tool_call_id": call.key,
        "session_id": call.session,
        "agent": call.agent,
        "ts": clock::rfc3339(ask.created_at),
    });
    let more = match call.questions.get(ask.progress.current()) {
        Some(question) => {
            let options: Vec<&str> = question.options.iter().map(|one| &*one.label).collect();
            json!({
                "type": "ask_user", "question": question.question, "text": question.question,
                "options": options, "multi_select": question.multi_select,
            })
        }
        None => {
            let mut more = json!({
                "type": "approval_needed", "tool": call.tool, "arguments": call.args,
                "description": call.description.as_deref().unwrap_or_default(),
                "policy": { "decision": "ask", "reason": ask.body.why, "source": "countersign" },
            });
            if let (Some(more), Some(batch)) = (more.as_object_mut(), &call.batch_remaining) {
                more.insert("batch_remaining".to_owned(), json!(batch));
            }
            more
        }
    };
    if let (Some(frame), Value::Object(more)) = (frame.as_object_mut(), more) {
        frame.extend(more);
    }
    frame
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::connectonion::{AgentMessage, ConnectionParams, decode};

    fn call(frame: &Value) -> Call {
        let whose: ConnectionParams = serde_json::from_value(json!({})).unwrap();
        match decode(frame, &whose).unwrap() {
            AgentMessage::Call(call) => *call,
            AgentMessage::Notice => panic!("{frame} wants nothing"),
        }
    }

    #[test]
    fn fields_are_questions_of_their_own_and_come_back_by_name() {
        let asked = call(&json!({
            "type": "ask_user", "question": "Who are you?", "options": [],
            "fields": [
                { "name": "user", "label": "User name", "type": "text" },
                { "name": "team" },
            ],
        }));
        let questions: Vec<&str> = asked.questions.iter().map(|one| &*one.question).collect();
        assert_eq!(questions, ["User name", "team"]);
        let answers = json!({ "User name": "ana", "team": "shop" });
        let answer = answered(&asked, answers.as_object().unwrap());
        assert_eq!(answer, json!({ "user": "ana", "team": "shop" }));
    }

    #[test]
    fn options_beside_fields_are_the_answer_itself() {
        let asked = call(&json!({
            "type": "ask_user", "text": "Deploy?", "options": ["now", "later"],
            "fields": [{ "name": "why" }],
        }));
        let answers = json!({ "Deploy?": "now", "why": "it is late" });
        let answer = answered(&asked, answers.as_object().unwrap());
        assert_eq!(answer, json!({ "answer": "now", "why": "it is late" }));
    }

    #[test]
    fn an_error_reads_as_a_hard_rejection() {
        use countersign_profiles::connectonion::PromptAnswer;
        let frame = error("no");
        let hard = PromptAnswer::Rejected { then: OnDeny::Stop, feedback: Some("no".into()) };
        assert_eq!(PromptAnswer::read(&frame), hard);
        // A plugin without a mailbox takes every value that is true in Python for an approval.
        let read = ["approved", "mode", "feedback"].map(|field| frame.get(field).cloned());
        assert_eq!(read, [json!(false), json!("reject_hard"), json!("no")].map(Some));
    }
}
