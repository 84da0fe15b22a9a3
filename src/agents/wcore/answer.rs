//! Encodes the daemon's answers as commands to an engine.

use super::call::{APPROVE, asks_for_words};
use countersign_client::{AnswerView, Decided, Ending};
use countersign_domain::{Decision, Scope};
use countersign_policy::Call;
use countersign_profiles::wcore::{ApprovalScope, TIMED_OUT, literal, question::TOOL, reason_of};
use countersign_wcore::wire::{HostCommand, ResumeToken, Suspension, ToolRequest};
use serde_json::{Value, json};

/// An open request of an engine.
#[derive(Debug)]
pub(super) enum OpenRequest {
    /// A call, answered by its id.
    Call(Box<ToolRequest>),
    /// A suspended request, answered by its secret.
    Suspended(Suspension, ResumeToken),
}

/// The lines that answer a request.
// FAIL-CLOSED: no answer, an unreadable answer, and a question without an answer are denials.
pub(super) fn commands(
    open: &OpenRequest,
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
            // The denial first: `stop` ends the turn to which the request belongs.
            return [denial(open, &reason(decided))].into_iter().chain(stop).collect();
        }
        // FAIL-CLOSED: an engine has no way to run something else.
        Decision::Edit => denial(open, "the call was changed, which this engine cannot carry out"),
        Decision::Answer => {
            let words = said.and_then(|answer| answer.answers.as_ref()).map(in_words);
            answered(open, words.unwrap_or_default())
        }
        Decision::Approve => match open {
            OpenRequest::Call(request) if request.tool.name != TOOL => {
                approve(request, scope(request, said, compat), None)
            }
            OpenRequest::Call(_) | OpenRequest::Suspended(..) => {
                denial(open, "the question was approved without an answer")
            }
        },
    };
    vec![line]
}

/// The line for an answered question.
// SECURITY: the answer to a question lets no other tool run.
fn answered(open: &OpenRequest, words: String) -> String {
    match open {
        OpenRequest::Call(request) if request.tool.name == TOOL => {
            approve(request, ApprovalScope::Once, Some(words))
        }
        OpenRequest::Call(_) => denial(open, "a question was answered; nothing was approved"),
        OpenRequest::Suspended(wanted, token) => HostCommand::ApprovalResume {
            resume_token: token.clone(),
            approved: resumes(wanted, &words),
            modifications: Some(json!({ "answer": words })),
        }
        .line(),
    }
}

/// The line that denies a request.
pub(super) fn denial(open: &OpenRequest, reason: &str) -> String {
    match open {
        OpenRequest::Call(request) => {
            let (call_id, reason) = (request.call_id.clone(), reason.to_owned());
            HostCommand::ToolDeny { call_id, reason }
        }
        OpenRequest::Suspended(_, token) => HostCommand::ApprovalResume {
            resume_token: token.clone(),
            approved: false,
            modifications: Some(json!({ "reason": reason })),
        },
    }
    .line()
}

fn approve(request: &ToolRequest, scope: ApprovalScope, answer: Option<String>) -> String {
    HostCommand::ToolApprove { call_id: request.call_id.clone(), scope, answer }.line()
}

/// Returns whether a suspended request continues: any text answers a question in words, everything
/// else needs the exact label.
fn resumes(wanted: &Suspension, words: &str) -> bool {
    asks_for_words(wanted).is_some() || words == APPROVE
}

/// The scope of an approval that is reported to the engine.
// SECURITY: an engine that receives `always` does not ask again, and then no guardrail and no
// revoked grant is checked. The daemon remembers the grant instead.
fn scope(request: &ToolRequest, said: Option<&AnswerView>, compat: bool) -> ApprovalScope {
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

/// The reason of a denial, in the profile's words if the daemon gave them.
fn reason(decided: &Decided) -> String {
    match (&decided.message, &decided.ending) {
        (Some(message), _) => reason_of(message).to_owned(),
        (None, Ending::Expired) => TIMED_OUT.to_owned(),
        (None, Ending::Ruled(_)) => format!("denied by policy: {}", decided.reason),
        (None, _) => decided.reason.clone(),
    }
}

/// Answers to questions as one text: the single answer, or one line per question.
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
