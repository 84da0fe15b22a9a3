//! A request of Codex for a person, as a call, and the decision on it in Codex's words.

use crate::{codex::frame::ServerRequest, hook_call::message, latest::Latest};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call},
    question::{Choice, Question},
};
use countersign_tokens::sha256_hex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The agent's name in its calls.
pub(super) const NAME: &str = "codex";

/// Its tool that changes files.
pub(super) const APPLY_PATCH: &str = "apply_patch";

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
    /// A tool of an MCP server to call.
    McpCall,
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
                (RequestKind::Approval, tool.to_owned(), args, Vec::new())
            }
            "item/fileChange/requestApproval" => {
                let changes = context.changes?.as_array().filter(|changes| !changes.is_empty())?;
                let mut args = Map::from_iter([("changes".to_owned(), json!(changes))]);
                if let Some(root) = params.get("grantRoot").filter(|root| !root.is_null()) {
                    args.insert("grantRoot".to_owned(), root.clone());
                }
                (RequestKind::Approval, APPLY_PATCH.to_owned(), args.into(), Vec::new())
            }
            "mcpServer/elicitation/request" => {
                let (tool, args) = mcp_call(params)?;
                (RequestKind::McpCall, tool, args, Vec::new())
            }
            "item/tool/requestUserInput" => {
                let (ids, questions) = questions(params)?;
                (RequestKind::Questions(ids), "request_user_input".to_owned(), json!({}), questions)
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
            (_, Ending::Cancelled | Ending::Left, _) | (Decision::Deny, Ending::Expired, _) => {
                return None;
            }
            (Decision::Answer, Ending::Answered(answer), RequestKind::Questions(ids)) => {
                answers(ids, answer.answers.as_ref()?)?
            }
            // SECURITY: a question is never merely approved, and answers approve nothing.
            (_, _, RequestKind::Questions(_)) | (Decision::Answer | Decision::Edit, ..) => {
                return None;
            }
            (Decision::Approve, ..) => self.kind.said("accept"),
            (Decision::Deny, ending, _) if stops(ending) => self.kind.said("cancel"),
            (Decision::Deny, ..) => self.kind.said("decline"),
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
        let result = self.kind.said("decline");
        CodexReply { result, words: Some(for_the_model(why)) }
    }
}

impl RequestKind {
    /// An approval or a denial, in the words of its request; of questions there is none.
    fn said(&self, word: &str) -> Value {
        match self {
            Self::Approval => json!({ "decision": word }),
            Self::McpCall => json!({ "action": word }),
            Self::Questions(_) => json!({"answers": {}}),
        }
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
pub(super) fn command(params: &Map<String, Value>) -> Option<(&'static str, Value)> {
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

/// The name of a tool of an MCP server, as Codex's models call it.
pub(super) fn mcp_tool(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

/// The tool and the arguments of a request to call a tool of an MCP server (seen with 0.169.0).
// FAIL-CLOSED: a form of the server's own, and whatever else is not understood, is left to the
// terminal.
fn mcp_call(params: &Map<String, Value>) -> Option<(String, Value)> {
    const KNOWN: &[&str] =
        &["threadId", "turnId", "serverName", "mode", "_meta", "message", "requestedSchema"];
    let is_known = |name: &String| KNOWN.contains(&name.as_str());
    let about = params.get("_meta")?.as_object()?;
    let is_of_tool = |name: &String| name.starts_with("tool_") || name == "persist";
    let is = |map: &Map<String, Value>, name: &str, value: &str| {
        map.get(name).and_then(Value::as_str) == Some(value)
    };
    let asks_nothing = params.get("requestedSchema")?.get("properties")?.as_object()?.is_empty();
    let understood = asks_nothing
        && params.keys().all(is_known)
        && is(params, "mode", "form")
        && is(about, KIND, "mcp_tool_call")
        && about.keys().all(|name| name == KIND || is_of_tool(name));
    let text = |map: &Map<String, Value>, name: &str| Some(map.get(name)?.as_str()?.to_owned());
    let tool = mcp_tool(&text(params, "serverName")?, &text(about, "tool_name")?);
    let args = about.get("tool_params").filter(|args| args.is_object())?;
    understood.then(|| (tool, args.clone()))
}

/// Says in a request's `_meta` what is approved.
const KIND: &str = "codex_approval_kind";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodexQuestion {
    id: String,
    header: Option<String>,
    question: String,
    #[serde(default)]
    is_secret: bool,
    options: Option<Vec<CodexOption>>,
}

#[derive(Deserialize)]
struct CodexOption {
    label: String,
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

/// A request that Codex makes, with the denial that it reads.
type DeniedRequest = (&'static str, fn() -> Value);

/// The requests that Codex makes.
pub(super) const DENIALS: [DeniedRequest; 8] = [
    ("item/commandExecution/requestApproval", || json!({"decision": "decline"})),
    ("item/fileChange/requestApproval", || json!({"decision": "decline"})),
    ("item/tool/requestUserInput", || json!({"answers": {}})),
    ("item/permissions/requestApproval", || json!({"permissions": {}, "scope": "turn"})),
    ("mcpServer/elicitation/request", || json!({"action": "decline"})),
    ("item/tool/call", || json!({"contentItems": [], "success": false})),
    ("applyPatchApproval", || json!({"decision": "denied"})),
    ("execCommandApproval", || json!({"decision": "denied"})),
];

/// The denial of a request; `None` for a request that is not known.
pub(super) fn denial_of(method: &str) -> Option<Value> {
    DENIALS.iter().find(|(known, _)| *known == method).map(|(_, denial)| denial())
}

/// The changes of files that Codex told, by thread and item: a request to make them does not say
/// which.
// SECURITY: items of two threads may have one id.
pub(super) type FileChanges = Latest<(String, String), Value>;

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::{
        answered,
        codex::frame::{self, CodexFrame},
    };
    use countersign_domain::Scope;

    #[test]
    fn every_request_has_a_denial_and_what_looks_like_one_has_none() {
        assert!(DENIALS.iter().all(|(method, _)| denial_of(method).is_some()));
        for method in ["item/new/requestApproval", "item/tool/requestApproval", ""] {
            assert_eq!(denial_of(method), None, "{method}");
        }
    }

    fn request(method: &str, params: Value) -> ServerRequest {
        let text = json!({"method": method, "id": 7, "params": params}).to_string();
        match frame::read(&text) {
            CodexFrame::Request(request) => request,
            other => panic!("{other:?}"),
        }
    }

    fn params(more: &Value) -> Value {
        let mut params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 5,
        "command": "/bin/bash -lc 'cargo build --release'", "cwd": "/w",
        "proposedExecpolicyAmendment": ["cargo", "build"]});
        for (name, value) in more.as_object().unwrap() {
            params.as_object_mut().unwrap().insert(name.clone(), value.clone());
        }
        params
    }

    fn command(more: &Value) -> Option<CodexRequest> {
        let asked = request("item/commandExecution/requestApproval", params(more));
        CodexRequest::of(&asked, RequestContext { host: Some("mill"), ..RequestContext::default() })
    }

    fn answered(decision: Decision, scope: Option<Scope>, reason: Option<&str>) -> Decided {
        answered::answered(decision, "denied by Ana: no", |answer| {
            (answer.scope, answer.reason) = (scope, reason.map(str::to_owned));
        })
    }

    fn reply(request: &CodexRequest, decided: &Decided) -> Option<Value> {
        request.reply(decided).map(|reply| reply.result)
    }

    #[test]
    fn a_command_is_the_script_of_codex_and_whatever_else_it_asks_for_is_an_argument() {
        let plain = command(&json!({"reason": "Build it?", "environmentId": "local"})).unwrap();
        assert_eq!(plain.call.args, json!({"command": "cargo build --release"}));
        assert_eq!(
            (plain.call.tool.as_str(), plain.call.reason.as_deref()),
            ("Bash", Some("Build it?"))
        );
        for (more, args) in [
            (json!({"command": "/tmp/bash -lc ls"}), json!({"command": "/tmp/bash -lc ls"})),
            (json!({"command": "ls 'a"}), json!({"command": "ls 'a"})),
            (
                json!({"networkApprovalContext": {"host": "x", "protocol": "https"}}),
                json!({"command": "cargo build --release",
                "networkApprovalContext": {"host": "x", "protocol": "https"}}),
            ),
            (
                json!({"command": "ls", "environmentId": "far"}),
                json!({"command": "ls", "environmentId": "far"}),
            ),
        ] {
            assert_eq!(command(&more).unwrap().call.args, args);
        }
    }

    #[test]
    fn the_tool_says_which_shell_reads_the_command() {
        for (shell, tool) in [
            ("/bin/bash -lc ls", "Bash"),
            ("/usr/bin/zsh -c ls", "Bash"),
            ("/bin/sh -c ls", "sh"),
            ("/usr/bin/sh -lc ls", "sh"),
            ("ls", "sh"),
        ] {
            assert_eq!(command(&json!({ "command": shell })).unwrap().call.tool, tool, "{shell}");
        }
    }

    #[test]
    fn a_request_that_is_not_wholly_understood_is_left_to_the_terminal() {
        assert_eq!(command(&json!({"kind": "writeStdin"})), None);
        assert_eq!(command(&json!({"command": null})), None);
        assert_eq!(command(&json!({"turnId": 5})), None);
        let asked = |method: &str, params: Value| {
            CodexRequest::of(&request(method, params), RequestContext::default())
        };
        for method in ["item/permissions/requestApproval", "mcpServer/elicitation/request", "x"] {
            assert_eq!(asked(method, params(&json!({}))), None, "{method}");
        }
        assert_eq!(
            asked("item/fileChange/requestApproval", params(&json!({}))),
            None,
            "no changes"
        );
        let secret = json!({"questions": [{"id": "a", "question": "Key?", "isSecret": true}]});
        assert_eq!(asked("item/tool/requestUserInput", params(&secret)), None);
        let twice = json!({"questions": [{"id": "a", "question": "One?"}, {"id": "a", "question": "Two?"}]});
        assert_eq!(asked("item/tool/requestUserInput", params(&twice)), None);
        assert_eq!(command(&json!({"cwd": 5})), None);
        assert_eq!(command(&json!({"reason": ["Build it?"]})), None);
    }

    #[test]
    fn a_call_of_an_mcp_server_is_asked_for_and_its_form_is_not() {
        let about = json!({"codex_approval_kind": "mcp_tool_call", "tool_name": "note",
            "tool_params": {"text": "hello"}, "persist": ["session"]});
        let asked = |name: &str, value: Value| {
            let mut params = json!({"threadId": "t", "turnId": "u", "serverName": "x",
                "mode": "form", "_meta": about, "message": "Allow it?",
                "requestedSchema": {"type": "object", "properties": {}}});
            match name.strip_prefix("_meta.") {
                Some(name) => params["_meta"][name] = value,
                None => params[name] = value,
            }
            let request = request("mcpServer/elicitation/request", params);
            CodexRequest::of(&request, RequestContext::default())
        };
        let call = asked("mode", json!("form")).unwrap();
        assert_eq!(
            (&*call.call.tool, &call.call.args),
            ("mcp__x__note", &json!({"text": "hello"}))
        );
        for (decision, word) in [(Decision::Approve, "accept"), (Decision::Deny, "decline")] {
            let answer = answered::by_ana(decision, |_| {});
            let ending = Ending::Answered(answer);
            let reason = "Ana".to_owned();
            let decided = Decided { decision, reason, message: None, ask: None, ending };
            assert_eq!(call.reply(&decided).unwrap().result, json!({ "action": word }));
        }
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        for (name, value) in [
            ("mode", json!("url")),
            ("requestedSchema", schema),
            ("serverName", Value::Null),
            ("url", json!("https://x.example")),
            ("_meta.codex_approval_kind", json!("other")),
            ("_meta.tool_name", Value::Null),
            ("_meta.tool_params", json!("hello")),
            ("_meta.grants", json!("everything")),
        ] {
            assert_eq!(asked(name, value), None, "{name}");
        }
    }

    #[test]
    fn the_key_is_that_of_this_very_request() {
        let key = |more: &Value| command(more).unwrap().call.key;
        assert_eq!(key(&json!({})), key(&json!({})));
        assert_ne!(key(&json!({})), key(&json!({"startedAtMs": 6})));
        assert_ne!(key(&json!({})), key(&json!({"approvalId": "b"})));
    }

    #[test]
    fn codex_remembers_nothing_of_an_approval_whatever_its_scope() {
        let asked = command(&json!({})).unwrap();
        let once = json!({"decision": "accept"});
        for scope in [Scope::Once, Scope::Session, Scope::Always, Scope::Timed(60)] {
            let decided = answered(Decision::Approve, Some(scope), None);
            assert_eq!(reply(&asked, &decided).as_ref(), Some(&once), "{scope}");
        }
    }

    #[test]
    fn a_denial_declines_and_its_words_go_to_the_model() {
        let asked = command(&json!({})).unwrap();
        let denied = asked.reply(&answered(Decision::Deny, None, Some("no"))).unwrap();
        let words = Some("countersign: Denied by Ana: no.".to_owned());
        assert_eq!(denied, CodexReply { result: json!({"decision": "decline"}), words });
        let plain = asked.reply(&answered(Decision::Deny, None, None)).unwrap();
        assert_eq!(plain.words, None);
        let rule = Ending::Ruled(Some("deny `cargo *`".into()));
        let ruled = Decided { ending: rule, ..answered(Decision::Deny, None, None) };
        let words = "countersign: Denied by policy: denied by Ana: no (deny `cargo *`).".to_owned();
        assert_eq!(asked.reply(&ruled).unwrap().words, Some(words));
        let mut stops = answered(Decision::Deny, None, Some("no"));
        if let Ending::Answered(answer) = &mut stops.ending {
            answer.stop = true;
        }
        let stopped = asked.reply(&stops).unwrap();
        assert_eq!(stopped, CodexReply { result: json!({"decision": "cancel"}), words: None });
    }

    #[test]
    fn nobody_s_decision_and_a_foreign_kind_of_answer_are_no_reply() {
        let asked = command(&json!({})).unwrap();
        let ended = |decision, ending| Decided { ending, ..answered(decision, None, None) };
        assert_eq!(asked.reply(&ended(Decision::Deny, Ending::Expired)), None);
        assert_eq!(asked.reply(&ended(Decision::Deny, Ending::Cancelled)), None);
        assert_eq!(asked.reply(&answered(Decision::Answer, None, None)), None);
        assert_eq!(asked.reply(&answered(Decision::Edit, None, None)), None);
        let questions = json!({"questions": [{"id": "db", "question": "Which?", "options": null}]});
        let question = CodexRequest::of(
            &request("item/tool/requestUserInput", params(&questions)),
            RequestContext::default(),
        );
        let question = question.unwrap();
        assert_eq!(question.reply(&answered(Decision::Approve, None, None)), None);
        let mut said = answered(Decision::Answer, None, None);
        assert_eq!(question.reply(&said), None, "no answers");
        if let Ending::Answered(answer) = &mut said.ending {
            answer.answers = json!({"Which?": "Postgres"}).as_object().cloned();
        }
        let wanted = json!({"answers": {"db": {"answers": ["Postgres"]}}});
        assert_eq!(reply(&question, &said), Some(wanted));
    }
}
