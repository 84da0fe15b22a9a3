//! The daemon's answers as commands to an engine.

use super::call::{APPROVE, asks_for_words};
use crate::profiles::wcore::{ApprovalScope, TIMED_OUT, literal, question::TOOL, reason_of};
use crate::{
    client::{AnswerView, Decided, Ending},
    gate::ask::{Decision, Scope},
    policy::Call,
    wcore::wire::{Command, Request, ResumeToken, Suspension},
};
use serde_json::{Value, json};

/// A request that waits.
#[derive(Debug)]
pub(super) enum Open {
    /// A call, answered by its id.
    Call(Box<Request>),
    /// A suspended request, answered by its secret.
    Suspended(Suspension, ResumeToken),
}

/// The lines that answer a request.
// FAIL-CLOSED: no answer, an answer that cannot be read and a question without one are denials.
pub(super) fn commands(
    open: &Open,
    decided: Result<&Decided, String>,
    compat: bool,
) -> Vec<String> {
    let decided = match decided {
        Ok(decided) => decided,
        Err(why) => return vec![denial(open, &format!("nobody could be asked: {why}"))],
    };
    let said = match &decided.ending {
        Ending::Answered(answer) => Some(answer),
        _ => None,
    };
    let line = match decided.decision {
        Decision::Deny => {
            let stop = said.is_some_and(|answer| answer.stop);
            let stop = stop.then(|| json!({ "type": "stop" }).to_string());
            return [denial(open, &reason(decided))].into_iter().chain(stop).collect();
        }
        Decision::Answer => {
            let words = said.and_then(|answer| answer.answers.as_ref()).map(in_words);
            answered(open, words.unwrap_or_default())
        }
        Decision::Approve => match open {
            Open::Call(request) if request.tool.name != TOOL => {
                approve(request, scope(request, said, compat), None)
            }
            Open::Call(_) | Open::Suspended(..) => {
                denial(open, "the question was approved without an answer")
            }
        },
    };
    vec![line]
}

/// The line for a question that was answered.
// SECURITY: an answer lets no other tool run.
fn answered(open: &Open, words: String) -> String {
    match open {
        Open::Call(request) if request.tool.name == TOOL => {
            approve(request, ApprovalScope::Once, Some(words))
        }
        Open::Call(_) => denial(open, "a question was answered; nothing was approved"),
        Open::Suspended(wanted, token) => Command::ApprovalResume {
            resume_token: token.clone(),
            approved: resumes(wanted, &words),
            modifications: Some(json!({ "answer": words })),
        }
        .line(),
    }
}

/// The line that denies a request.
pub(super) fn denial(open: &Open, reason: &str) -> String {
    match open {
        Open::Call(request) => {
            let (call_id, reason) = (request.call_id.clone(), reason.to_owned());
            Command::ToolDeny { call_id, reason }
        }
        Open::Suspended(_, token) => Command::ApprovalResume {
            resume_token: token.clone(),
            approved: false,
            modifications: Some(json!({ "reason": reason })),
        },
    }
    .line()
}

fn approve(request: &Request, scope: ApprovalScope, answer: Option<String>) -> String {
    Command::ToolApprove { call_id: request.call_id.clone(), scope, answer }.line()
}

/// A person's own words are an answer to a question for words; everything else wants the word.
fn resumes(wanted: &Suspension, words: &str) -> bool {
    asks_for_words(wanted).is_some() || words == APPROVE
}

/// What the engine hears of what an approval covers.
// SECURITY: an engine that was told `always` asks no more, and then no guardrail and no revoked
// grant is looked at; the daemon remembers for it.
fn scope(request: &Request, said: Option<&AnswerView>, compat: bool) -> ApprovalScope {
    let scope = said.filter(|_| compat).and_then(|answer| answer.scope);
    match scope {
        Some(Scope::Always | Scope::Session) => ApprovalScope::Always,
        Some(Scope::Prefix) => {
            let call = Call::new(request.tool.name.clone(), request.tool.args.clone());
            let prefix = call.command().map(literal::infer_prefix).unwrap_or_default();
            ApprovalScope::AlwaysPrefix { prefix }
        }
        _ => ApprovalScope::Once,
    }
}

/// Why it is denied: the profile's own words where the daemon has them.
fn reason(decided: &Decided) -> String {
    match (&decided.message, &decided.ending) {
        (Some(message), _) => reason_of(message).to_owned(),
        (None, Ending::Expired) => TIMED_OUT.to_owned(),
        (None, Ending::Ruled(_)) => format!("denied by policy: {}", decided.reason),
        (None, _) => decided.reason.clone(),
    }
}

/// Answers by question as one text: the answer itself, or a line for each question.
fn in_words(answers: &serde_json::Map<String, Value>) -> String {
    let said = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    match answers.len() {
        1 => answers.values().map(said).collect(),
        _ => {
            let lines =
                answers.iter().map(|(question, answer)| format!("{question}: {}", said(answer)));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}
