//! A request of Codex for a person, as a call, and the decision on it in Codex's words.

use super::frame::ServerRequest;
use crate::hook_call::message;
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call},
    question::{Choice, Question},
};
use countersign_tokens::digest::sha256_hex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The agent's name in its calls.
pub(super) const NAME: &str = "codex";

/// A request that a person can answer here.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CodexRequest {
    /// The call to submit.
    pub call: Call,
    /// The turn that waits.
    pub turn: String,
    kind: RequestKind,
}

#[derive(Debug, Clone, PartialEq)]
enum RequestKind {
    /// A command to run, or files to change.
    Approval,
    Questions(QuestionIds),
}

/// The ids of questions, with their texts.
type QuestionIds = Vec<(String, String)>;

/// What surrounds a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RequestContext<'a> {
    /// The folder of its thread.
    pub cwd: Option<&'a str>,
    /// The changes of its item.
    pub changes: Option<&'a Value>,
    /// This machine's name.
    pub host: Option<&'a str>,
}

/// A reply to Codex.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CodexReply {
    /// The result.
    pub result: Value,
    /// A person's words for the model, which the result has no place for.
    pub words: Option<String>,
}

/// Fields of a command's request that say nothing more about what an approval allows.
const KNOWN: &[&str] = &[
    "kind",
    "threadId",
    "turnId",
    "itemId",
    "approvalId",
    "startedAtMs",
    "reason",
    "command",
    "cwd",
    "commandActions",
    "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments",
    "availableDecisions",
];

/// Shells whose `-lc` is Codex's own way to run a command.
const SHELLS: &[&str] =
    &["/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh", "/bin/zsh", "/usr/bin/zsh"];

impl CodexRequest {
    /// Reads a request; `None` leaves it to the terminal.
    // FAIL-CLOSED: a request that is not wholly understood is not shown, because nobody could tell
    // what an approval of it allows.
    pub(super) fn of(request: &ServerRequest, context: RequestContext<'_>) -> Option<Self> {
        let params = &request.params;
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let is_text = |key| params.get(key).is_none_or(|it| it.is_string() || it.is_null());
        if !["cwd", "reason"].into_iter().all(is_text) {
            return None;
        }
        let (kind, tool, args, questions) = match request.method.as_str() {
            "item/commandExecution/requestApproval" => {
                let (tool, args) = command(params)?;
                (RequestKind::Approval, tool, args, Vec::new())
            }
            "item/fileChange/requestApproval" => {
                let changes = context.changes?.as_array().filter(|changes| !changes.is_empty())?;
                let mut args = Map::from_iter([("changes".to_owned(), json!(changes))]);
                if let Some(root) = params.get("grantRoot").filter(|root| !root.is_null()) {
                    args.insert("grantRoot".to_owned(), root.clone());
                }
                (RequestKind::Approval, "apply_patch", args.into(), Vec::new())
            }
            "item/tool/requestUserInput" => {
                let (ids, questions) = questions(params)?;
                (RequestKind::Questions(ids), "request_user_input", json!({}), questions)
            }
            _ => return None,
        };
        let reason = text("reason").filter(|reason| !reason.trim().is_empty());
        let call = Call {
            key: Some(key(request)),
            host: context.host.map(str::to_owned),
            cwd: text("cwd").or(context.cwd).map(str::to_owned),
            reason: reason.map(str::to_owned),
            questions,
            accepts: vec![Accepts::Stop],
            ..Call::new(NAME, text("threadId")?, tool, args)
        };
        Some(Self { call, turn: text("turnId")?.to_owned(), kind })
    }

    /// The decision; `None` where nobody decided.
    // INVARIANT: Codex remembers nothing of an approval, whatever its scope: a rule or a session of
    // its own would still allow what a person revokes here. Our grant answers the next request.
    pub(super) fn reply(&self, decided: &Decided) -> Option<CodexReply> {
        let result = match (decided.decision, &decided.ending, &self.kind) {
            // FAIL-CLOSED: nobody decided.
            (_, Ending::Cancelled, _) | (Decision::Deny, Ending::Expired, _) => return None,
            (Decision::Answer, Ending::Answered(answer), RequestKind::Questions(ids)) => {
                answers(ids, answer.answers.as_ref()?)?
            }
            // SECURITY: a question is never merely approved, and answers approve nothing.
            (_, _, RequestKind::Questions(_)) | (Decision::Answer | Decision::Edit, ..) => {
                return None;
            }
            (Decision::Approve, ..) => json!({"decision": "accept"}),
            (Decision::Deny, ending, _) if stops(ending) => json!({"decision": "cancel"}),
            (Decision::Deny, ..) => json!({"decision": "decline"}),
        };
        let says_why = match &decided.ending {
            Ending::Answered(answer) => !answer.stop && answer.reason.is_some(),
            ending => matches!(ending, Ending::Ruled(_)),
        };
        let words = (decided.decision == Decision::Deny && says_why)
            .then(|| for_the_model(&message(decided)));
        Some(CodexReply { result, words })
    }

    /// Whether it asks questions, and for no approval.
    pub(super) fn asks_questions(&self) -> bool {
        matches!(self.kind, RequestKind::Questions(_))
    }

    /// The denial where nobody decided and no terminal can; `why` is for the model.
    pub(super) fn denial(&self, why: &str) -> CodexReply {
        let result = match self.kind {
            RequestKind::Approval => json!({"decision": "decline"}),
            RequestKind::Questions(_) => json!({"answers": {}}),
        };
        CodexReply { result, words: Some(for_the_model(why)) }
    }
}

/// Whether a person ended the turn.
pub(super) fn stops(ending: &Ending) -> bool {
    matches!(ending, Ending::Answered(answer) if answer.stop)
}

/// Words of ours as a message in a turn.
pub(super) fn for_the_model(text: &str) -> String {
    format!("countersign: {}.", text.trim_end_matches('.'))
}

/// The tool and the arguments of a request to run a command. The tool says which shell reads it.
fn command(params: &Map<String, Value>) -> Option<(&'static str, Value)> {
    // Other kinds, such as input for a command that runs, are left to the terminal.
    let kind = params.get("kind").filter(|kind| !kind.is_null());
    if kind.is_some_and(|kind| kind != "command") {
        return None;
    }
    let whole = params.get("command")?.as_str()?;
    let (tool, command) = match shlex::split(whole).as_deref() {
        Some([shell, option, script])
            if SHELLS.contains(&&**shell) && matches!(&**option, "-lc" | "-c") =>
        {
            (if shell.ends_with("/sh") { "sh" } else { "Bash" }, script.clone())
        }
        _ => ("sh", whole.to_owned()),
    };
    let mut args = Map::from_iter([("command".to_owned(), json!(command))]);
    // Network access, other permissions, another environment: no rule allows a command with such
    // an argument, and its card shows it.
    for (name, value) in params.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
        let usual = name == "environmentId" && value == "local";
        if !value.is_null() && !usual {
            args.insert(name.clone(), value.clone());
        }
    }
    Some((tool, args.into()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodexQuestion {
    id: String,
    #[serde(default)]
    header: Option<String>,
    question: String,
    #[serde(default)]
    is_secret: bool,
    #[serde(default)]
    options: Option<Vec<CodexOption>>,
}

#[derive(Deserialize)]
struct CodexOption {
    label: String,
    #[serde(default)]
    description: Option<String>,
}

/// Reads questions: their ids with their texts, and what a card shows.
fn questions(params: &Map<String, Value>) -> Option<(QuestionIds, Vec<Question>)> {
    let asked = params.get("questions")?;
    let asked: Vec<CodexQuestion> = serde_json::from_value(asked.clone()).ok()?;
    // SECURITY: a secret is not typed into a chat.
    if asked.is_empty() || asked.iter().any(|one| one.is_secret) {
        return None;
    }
    // One answer would stand for two questions.
    if asked.iter().map(|one| &one.id).collect::<HashSet<_>>().len() < asked.len() {
        return None;
    }
    let ids: Vec<_> = asked.iter().map(|one| (one.id.clone(), one.question.clone())).collect();
    let question = |one: CodexQuestion| Question {
        question: one.question,
        header: one.header.filter(|header| !header.is_empty()),
        multi_select: false,
        options: one.options.unwrap_or_default().into_iter().map(choice).collect(),
    };
    Some((ids, asked.into_iter().map(question).collect()))
}

fn choice(option: CodexOption) -> Choice {
    let description = option.description.filter(|text| !text.is_empty());
    Choice { label: option.label, description, preview: None }
}

/// The answers by the ids of the questions; `None` unless each has one.
fn answers(ids: &[(String, String)], answers: &Map<String, Value>) -> Option<Value> {
    let mut result = Map::new();
    for (id, question) in ids {
        let said = match answers.get(question)? {
            Value::Array(several) => several.clone(),
            one => vec![one.clone()],
        };
        result.insert(id.clone(), json!({"answers": said}));
    }
    Some(json!({"answers": result}))
}

/// The key of a request: the same when Codex sends it again, and another for every other request.
pub(super) fn key(request: &ServerRequest) -> String {
    let ServerRequest { id, method, params } = request;
    sha256_hex(json!([NAME, id, method, params]).to_string().as_bytes())
}

#[cfg(test)]
mod tests;
