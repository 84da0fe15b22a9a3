//! A permission request and questions of opencode: their calls, and the replies to them.

use crate::{
    agent::{HookReply, HookRequest},
    hook_call::ToolDecision,
};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call},
    question::{Choice, Question},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The agent's name in its calls.
pub(super) const NAME: &str = "opencode";

/// The permissions of opencode's own tools; any other is the name of an MCP tool.
const OWN: &[&str] = &[
    "bash",
    "codesearch",
    "doom_loop",
    "edit",
    "external_directory",
    "glob",
    "grep",
    "list",
    "lsp",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
];

/// Where a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct RequestSession {
    /// The sessions above this one, nearest first: a subagent's session is below the person's own.
    #[serde(default)]
    above: Vec<String>,
    #[serde(default)]
    title: Option<String>,
}

/// A permission request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct PermissionAsked {
    id: String,
    #[serde(rename = "sessionID")]
    session: String,
    #[serde(alias = "action")]
    permission: String,
    #[serde(default, alias = "resources")]
    patterns: Vec<String>,
    #[serde(default)]
    metadata: Value,
    #[serde(skip)]
    from: RequestOrigin,
}

/// Questions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct PendingQuestions {
    id: String,
    #[serde(rename = "sessionID")]
    session: String,
    questions: Vec<OpencodeQuestion>,
    #[serde(skip)]
    from: RequestOrigin,
}

/// What the plugin knows of where a request comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RequestOrigin {
    /// The folder.
    pub directory: Option<String>,
    /// The session.
    pub session: RequestSession,
    /// The form of its reply.
    pub wire: OpencodeWire,
}

/// The routes that take replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum OpencodeWire {
    /// `/permission/ID/reply`
    #[default]
    V1,
    /// `/api/session/SESSION/permission/ID/reply`, for events with `.v2.` in their names.
    V2,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct OpencodeQuestion {
    question: String,
    #[serde(default)]
    header: Option<String>,
    #[serde(default)]
    options: Vec<Choice>,
    #[serde(default)]
    multiple: bool,
}

impl PermissionAsked {
    /// The request with its origin.
    ///
    /// # Errors
    /// Where its id is not one.
    pub(super) fn of(self, from: RequestOrigin) -> Result<Self, String> {
        from.check_route(&self.id, &self.session)?;
        Ok(Self { from, ..self })
    }

    /// The tool as rules know it.
    // SECURITY: the server of an MCP tool chooses its name, which may be that of another tool.
    fn tool(&self) -> String {
        match OWN.contains(&self.permission.as_str()) {
            true => self.permission.clone(),
            false => format!("mcp__opencode__{}", self.permission),
        }
    }

    fn args(&self) -> Value {
        let mut args = self.metadata.as_object().cloned().unwrap_or_default();
        match (self.permission.as_str(), self.patterns.as_slice()) {
            // The patterns of a command are its parts.
            ("bash", _) if args.contains_key("command") => {}
            ("read", [path]) => {
                args.entry("filePath").or_insert_with(|| path.as_str().into());
            }
            ("edit", _) if args.contains_key("diff") => {}
            (_, patterns) => {
                args.insert("patterns".to_owned(), json!(patterns));
            }
        }
        args.into()
    }
}

impl HookRequest for PermissionAsked {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        let call = Call::new(NAME, self.from.root(&self.session), self.tool(), self.args());
        let description = self.metadata.get("description").and_then(Value::as_str);
        Ok(Call {
            key: Some(key),
            host,
            cwd: self.from.directory.clone(),
            description: description.map(str::to_owned),
            accepts: vec![Accepts::Stop],
            meta: self.from.meta(&self.session),
            ..call
        })
    }

    // Never opencode's `always`: what was approved for longer is a grant here, which is shown and
    // can be revoked, and decides the next time.
    fn reply(&self, decided: &Decided) -> HookReply {
        let body = match ToolDecision::of(decided) {
            None => return HookReply::Nothing,
            Some(ToolDecision::Allow) => json!({"reply": "once"}),
            Some(ToolDecision::Deny { message, stop: false }) => {
                json!({"reply": "reject", "message": message})
            }
            // Without a message the turn ends.
            Some(ToolDecision::Deny { stop: true, .. }) => json!({"reply": "reject"}),
        };
        let path = self.from.route(&self.session, &format!("permission/{}/reply", self.id));
        HookReply::Print(json!({"path": path, "body": body}))
    }
}

impl PendingQuestions {
    /// The questions with their origin.
    ///
    /// # Errors
    /// Where their id is not one.
    pub(super) fn of(self, from: RequestOrigin) -> Result<Self, String> {
        from.check_route(&self.id, &self.session)?;
        Ok(Self { from, ..self })
    }

    /// The answers in the order of the questions; `None` unless all are answered.
    // FAIL-CLOSED: a question without an answer stays with its dialog.
    fn answers(&self, decided: &Decided) -> Option<Value> {
        let Ending::Answered(answer) = &decided.ending else { return None };
        let answers = answer.answers.as_ref()?;
        let each = self.questions.iter().map(|asked| match answers.get(&asked.question)? {
            Value::Array(labels) => Some(json!(labels)),
            said => Some(json!([said])),
        });
        each.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()).map(Value::from)
    }
}

impl HookRequest for PendingQuestions {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        if self.questions.is_empty() {
            return Err("there are no questions to ask".into());
        }
        let call = Call::new(NAME, self.from.root(&self.session), "question", json!({}));
        let questions = self.questions.iter().cloned().map(|asked| Question {
            question: asked.question,
            header: asked.header,
            multi_select: asked.multiple,
            options: asked.options,
        });
        Ok(Call {
            key: Some(key),
            host,
            cwd: self.from.directory.clone(),
            questions: questions.collect(),
            meta: self.from.meta(&self.session),
            ..call
        })
    }

    fn reply(&self, decided: &Decided) -> HookReply {
        let reply = |what: &str, body: Value| {
            let path = self.from.route(&self.session, &format!("question/{}/{what}", self.id));
            HookReply::Print(json!({"path": path, "body": body}))
        };
        match (decided.decision, &decided.ending) {
            (_, Ending::Cancelled | Ending::Expired) => HookReply::Nothing,
            (Decision::Answer, _) => match self.answers(decided) {
                Some(answers) => reply("reply", json!({"answers": answers})),
                None => HookReply::Nothing,
            },
            (Decision::Deny, _) => reply("reject", json!({})),
            (Decision::Approve | Decision::Edit, _) => HookReply::Nothing,
        }
    }
}

impl RequestOrigin {
    /// The person's own session, to which what is approved for the session belongs.
    fn root<'s>(&'s self, session: &'s str) -> &'s str {
        self.session.above.last().map_or(session, String::as_str)
    }

    /// Checks what becomes a part of the route of a reply.
    fn check_route(&self, id: &str, session: &str) -> Result<(), String> {
        is_id(id)?;
        match self.wire {
            OpencodeWire::V1 => Ok(()),
            OpencodeWire::V2 => is_id(session),
        }
    }

    /// The route of a reply.
    fn route(&self, session: &str, reply: &str) -> String {
        match self.wire {
            OpencodeWire::V1 => format!("/{reply}"),
            OpencodeWire::V2 => format!("/api/session/{session}/{reply}"),
        }
    }

    /// Names a subagent.
    fn meta(&self, session: &str) -> Option<Value> {
        (!self.session.above.is_empty())
            .then(|| json!({"agent_id": session, "agent_type": self.session.title}))
    }
}

/// Checks an id that becomes a part of a path.
fn is_id(id: &str) -> Result<(), String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match !id.is_empty() && id.chars().all(fits) {
        true => Ok(()),
        false => Err("the request's id is not one of opencode's".into()),
    }
}
