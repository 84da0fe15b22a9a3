//! opencode: a plugin that starts our hook for each of its prompts and questions.

use crate::{
    agent::{AgentTitle, HookEvent, HookFile, HookMode, HookReply, HookRequest, TRIAL, TRIAL_SAYS},
    description::{AgentDescription, HookText, Silence},
    hook_call::{HookCall, ToolDecision, answer_plugin},
    hook_files::{self, OwnFile, command_of, with_command},
};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call},
    exact_json,
    question::{Choice, Question},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

const PLUGIN: &str = include_str!("../../config/opencode/countersign.js");

/// The start of the plugin, which tells it from others.
const MARK: &str = "// countersign for opencode";

/// opencode.
pub const OPENCODE: AgentDescription = AgentDescription {
    name: NAME,
    title: AgentTitle {
        name: "opencode",
        versions: "1.18.33 or newer",
        connected: "Its own dialog stays beside it, and decides alone while no daemon runs. It \
                    asks only what its `permission` setting asks, and little by default: put \
                    \"permission\": {\"bash\": \"ask\", \"edit\": \"ask\"} into its opencode.json. \
                    `opencode run` asks nobody: it rejects by itself, and with --auto it approves by \
                    itself: --gate decides before.",
    },
    program: Some("opencode"),
    home: folder,
    traces: &[],
    file: "plugin/countersign.js",
    project: &[],
    hooks: HookText::Own(OwnFile {
        name: NAME,
        kind: HookFile::Own,
        text: |command| with_command(PLUGIN, command),
        command: |text| command_of(text, MARK),
    }),
    modes: &[HookMode::Prompts, HookMode::EveryCall],
    // The plugin waits for ever, and so does the dialog beside it.
    limit: |_| None,
    process_variable: None,
    sample: |session, mode| {
        let args = json!({"command": TRIAL, "description": TRIAL_SAYS});
        if mode.is_gate() {
            let call = json!({"sessionID": session, "tool": "bash", "args": args});
            return json!({"type": CALL, "properties": call});
        }
        json!({"type": "permission.asked", "properties": {"id": "per_trial",
            "sessionID": session, "permission": "bash", "patterns": [TRIAL], "metadata": args}})
    },
    read: |stdin, mode| if mode.is_gate() { read_call(stdin) } else { read(stdin) },
    encode: |_| answer_plugin,
    // FAIL-CLOSED: the plugin blocks a call of which nothing is said; a question is one of these.
    spoken: &[Silence::Undecided, Silence::Noticed],
};

/// The plugin's own event of a call before it runs.
const CALL: &str = "countersign.call";

#[derive(Deserialize)]
struct PluginCall {
    #[serde(rename = "sessionID")]
    session: String,
    tool: String,
    #[serde(default)]
    args: Value,
}

/// Decodes a call before it runs.
// FAIL-CLOSED: whatever is not understood is an error, and that blocks.
fn read_call(stdin: &[u8]) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a call: {error}");
    let event: PluginEvent = exact_json::from_slice(stdin).map_err(unreadable)?;
    let PluginEvent { kind, properties, directory, session } = event;
    if kind != CALL {
        return Err(format!("stdin is not a call, but `{kind}`"));
    }
    let call = PluginCall::deserialize(properties).map_err(unreadable)?;
    // It only asks, and its answer comes from here too.
    if call.tool == "question" {
        return Ok(HookEvent::Notice);
    }
    let from = RequestOrigin { directory, session, wire: OpencodeWire::V1 };
    let root = from.root(&call.session).to_owned();
    let meta = from.meta(&call.session);
    let call = (known(&call.tool), call.args);
    let mut wanted = HookCall::new(NAME, root, from.directory, call, answer_plugin);
    wanted.call.meta = meta;
    Ok(HookEvent::Wants(Box::new(wanted)))
}

#[derive(Deserialize)]
struct PluginEvent {
    #[serde(rename = "type")]
    kind: String,
    properties: Value,
    directory: Option<String>,
    #[serde(default)]
    session: RequestSession,
}

/// Decodes what the plugin writes.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not an event: {error}");
    let event: PluginEvent = exact_json::from_slice(stdin).map_err(unreadable)?;
    let PluginEvent { kind, properties, directory, session } = event;
    let wire = if kind.contains(".v2.") { OpencodeWire::V2 } else { OpencodeWire::V1 };
    let origin = RequestOrigin { directory, session, wire };
    Ok(match kind.as_str() {
        "permission.asked" | "permission.v2.asked" => {
            let asked = PermissionAsked::deserialize(properties).map_err(unreadable)?;
            HookEvent::Wants(Box::new(asked.wanted(&origin)?))
        }
        "question.asked" | "question.v2.asked" => {
            let asked = PendingQuestions::deserialize(properties).map_err(unreadable)?;
            HookEvent::Wants(Box::new(asked.of(origin)?))
        }
        // The plugin's own events: its reply came after another one.
        "countersign.overtaken" => {
            let asked = PermissionAsked::deserialize(properties).map_err(unreadable)?;
            overtaken(&asked.wanted(&origin)?)?
        }
        "countersign.overtaken.question" => {
            let asked = PendingQuestions::deserialize(properties).map_err(unreadable)?;
            overtaken(&asked.of(origin)?)?
        }
        "session.deleted" => {
            let id = properties.pointer("/info/id").or_else(|| properties.get("sessionID"));
            let session = id.and_then(Value::as_str).ok_or("the event names no session")?;
            HookEvent::Ended { session: session.to_owned() }
        }
        _ => HookEvent::Notice,
    })
}

fn overtaken(request: &dyn HookRequest) -> Result<HookEvent, String> {
    let Call { session, tool, args: input, .. } = request.call(String::new(), None)?;
    Ok(HookEvent::Overtaken { session, tool, input })
}

fn folder() -> Result<PathBuf, String> {
    match (hook_files::named("OPENCODE_CONFIG_DIR"), hook_files::named("XDG_CONFIG_HOME")) {
        (Some(folder), _) => Ok(folder),
        (None, Some(config)) => Ok(config.join("opencode")),
        (None, None) => hook_files::home(".config/opencode"),
    }
}

/// The agent's name in its calls.
pub(super) const NAME: &str = "opencode";

/// opencode's own tools and their permissions; any other is the name of an MCP tool.
const OWN: &[&str] = &[
    "apply_patch",
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
    "write",
];

/// A tool as rules know it.
// SECURITY: the server of an MCP tool chooses its name, which may be that of another tool.
fn known(tool: &str) -> String {
    if OWN.contains(&tool) { tool.to_owned() } else { format!("mcp__opencode__{tool}") }
}

/// Where a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct RequestSession {
    /// The sessions above this one, nearest first: a subagent's session is below the person's own.
    #[serde(default)]
    above: Vec<String>,
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
    header: Option<String>,
    #[serde(default)]
    options: Vec<Choice>,
    #[serde(default)]
    multiple: bool,
}

impl PermissionAsked {
    /// The request that comes from there.
    ///
    /// # Errors
    /// Where its id is not one.
    // Never opencode's `always`: what was approved for longer is a grant here, which is shown and
    // can be revoked, and decides the next time.
    fn wanted(&self, from: &RequestOrigin) -> Result<HookCall, String> {
        from.check_route(&self.id, &self.session)?;
        let path = from.route(&self.session, &format!("permission/{}/reply", self.id));
        let encode = move |decision: &ToolDecision| {
            let body = match decision {
                ToolDecision::Allow => json!({"reply": "once"}),
                ToolDecision::Deny { message, stop: false } => {
                    json!({"reply": "reject", "message": message})
                }
                // Without a message the turn ends.
                ToolDecision::Deny { stop: true, .. } => json!({"reply": "reject"}),
            };
            HookReply::Print(json!({"path": path, "body": body}))
        };
        let root = from.root(&self.session).to_owned();
        let call = (known(&self.permission), self.args());
        let mut wanted = HookCall::new(NAME, root, from.directory.clone(), call, encode);
        wanted.call.accepts.push(Accepts::Stop);
        wanted.call.meta = from.meta(&self.session);
        Ok(wanted)
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
    if !id.is_empty() && id.chars().all(fits) {
        Ok(())
    } else {
        Err("the request's id is not one of opencode's".into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::agent::HookAgent;
    use crate::{
        agent::{HookReply, HookRequest},
        answered::answered,
    };
    use countersign_client::{Decided, Ending};
    use countersign_domain::Decision;

    const COMMAND_LINE: &str = "'/opt/my bin/countersign' hook opencode --config '/a \"b\".toml'";

    fn golden(name: &str) -> Value {
        let file =
            format!("{}/../../tests/golden/opencode/{name}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    }

    fn event(golden: &Value) -> Value {
        let mut event = golden["frames"][0]["data"].clone();
        event["directory"] = json!("/home/ana/shop");
        event
    }

    fn request(event: &Value) -> Box<dyn HookRequest> {
        match read(event.to_string().as_bytes()) {
            Ok(HookEvent::Wants(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    /// The recorded reply, in the form of the plugin.
    fn recorded(golden: &Value) -> HookReply {
        let frame = &golden["frames"][1];
        let body = if frame["data"].is_null() { json!({}) } else { frame["data"].clone() };
        HookReply::Print(json!({"path": frame["path"], "body": body}))
    }

    #[test]
    fn the_plugin_names_the_command_and_is_removed_only_if_it_is_ours() {
        let plugin = OPENCODE.connect("", COMMAND_LINE, HookMode::Prompts).unwrap();
        let words = r#"["/opt/my bin/countersign","hook","opencode","--config","/a \"b\".toml"];"#;
        let line = format!("const COMMAND = {words}");
        assert!(plugin.lines().any(|there| there == line), "{plugin}");
        assert_eq!(plugin.lines().count(), PLUGIN.lines().count());
        assert_eq!(OPENCODE.disconnect(&plugin), Ok(String::new()));
        let theirs = "export const Mine = async () => ({})\n";
        assert!(OPENCODE.connect(theirs, COMMAND_LINE, HookMode::Prompts).is_err());
        assert_eq!(OPENCODE.disconnect(theirs), Ok(theirs.to_owned()));
    }

    #[test]
    fn a_gate_is_one_more_word_and_reads_calls_alone() {
        let gate = HookMode::EveryCall;
        let plugin = OPENCODE.connect("", COMMAND_LINE, gate).unwrap();
        assert!(plugin.lines().any(|line| line.ends_with("b\\\".toml\",\"--gate\"];")), "{plugin}");
        let hooks = OPENCODE.installed(&plugin).unwrap().unwrap();
        assert_eq!(hooks.mode, gate);
        assert!(!hooks.command.contains("--gate"), "{}", hooks.command);
        let event = |kind: &str, tool: &str| {
            json!({"type": kind, "directory": "/w", "session": {"above": ["ses_root"]},
                "properties": {"sessionID": "ses_1", "tool": tool, "args": {"command": "ls"}}})
            .to_string()
        };
        let call = |tool: &str| match OPENCODE.decode(event(CALL, tool).as_bytes(), gate) {
            Ok(HookEvent::Wants(request)) => request.call("k".into(), None).unwrap(),
            other => panic!("{other:?}"),
        };
        let said = call("bash");
        assert_eq!((said.session.as_str(), said.tool.as_str()), ("ses_root", "bash"));
        assert_eq!(said.cwd.as_deref(), Some("/w"));
        assert_eq!(call("server_bash").tool, "mcp__opencode__server_bash");
        let asks = OPENCODE.decode(event(CALL, "question").as_bytes(), gate);
        assert!(matches!(asks, Ok(HookEvent::Notice)), "{asks:?}");
        assert_eq!(OPENCODE.noticed(), HookReply::Print(json!({"block": false})));
        assert!(OPENCODE.decode(event("permission.asked", "bash").as_bytes(), gate).is_err());
        let away = OPENCODE.undecided("no daemon", gate);
        let why = "countersign could not decide on this call, so it is blocked: no daemon";
        assert_eq!(away, HookReply::Print(json!({"block": true, "reason": why})));
    }

    #[test]
    fn a_permission_request_becomes_a_call_of_the_persons_own_session() {
        let mut event = event(&golden("01_once"));
        event["session"] = json!({"above": ["ses_mid", "ses_root"], "title": "Explore"});
        let call = request(&event).call("k".into(), Some("mill".into())).unwrap();
        let expected = json!({
            "key": "k", "agent": "opencode", "session": "ses_root", "host": "mill",
            "cwd": "/home/ana/shop", "tool": "bash",
            "args": {"command": "git status --short && git push origin main"},
            "accepts": ["stop"],
            "meta": {"agent_id": "ses_e047f6feExample", "agent_type": "Explore"},
        });
        assert_eq!(serde_json::to_value(call).unwrap(), expected);
    }

    #[test]
    fn answers_are_the_recorded_replies() {
        let yes = answered(Decision::Approve, "approved", |_| {});
        let no = answered(Decision::Deny, "denied by Ana: open a pull request.", |_| {});
        let stop = answered(Decision::Deny, "denied by Ana", |answer| answer.stop = true);
        let always = answered(Decision::Approve, "approved", |answer| {
            answer.scope = Some(countersign_domain::Scope::Always);
        });
        for (name, decided) in
            [("01_once", &yes), ("03_reject_feedback", &no), ("04_reject_stop", &stop)]
        {
            let golden = golden(name);
            assert_eq!(request(&event(&golden)).reply(decided), recorded(&golden), "{name}");
        }
        let once = recorded(&golden("01_once"));
        assert_eq!(request(&event(&golden("02_always"))).reply(&always), once);
    }

    #[test]
    fn questions_are_answered_in_their_order_or_not_at_all() {
        let golden_reply = golden("06_question_reply");
        let request = request(&event(&golden_reply));
        let call = request.call("k".into(), None).unwrap();
        assert_eq!(call.questions.len(), 2);
        assert!(call.questions[1].multi_select);
        let said = |answers: Value| {
            answered(Decision::Answer, "answered", |answer| {
                answer.answers = answers.as_object().cloned();
            })
        };
        let all = said(json!({"Which checks should run?": ["Lint", "Docs"],
        "Which database should the demo use?": "Postgres"}));
        assert_eq!(request.reply(&all), recorded(&golden_reply));
        let half = said(json!({"Which checks should run?": ["Lint", "Docs"]}));
        assert_eq!(request.reply(&half), HookReply::Nothing);
        assert_eq!(request.reply(&answered(Decision::Approve, "", |_| {})), HookReply::Nothing);
        let no = answered(Decision::Deny, "no", |_| {});
        assert_eq!(request.reply(&no), recorded(&golden("07_question_reject")));
    }

    #[test]
    fn when_nobody_decided_the_dialog_decides() {
        for (golden, ending) in [
            (golden("01_once"), Ending::Expired),
            (golden("01_once"), Ending::Cancelled),
            (golden("06_question_reply"), Ending::Expired),
            (golden("06_question_reply"), Ending::Cancelled),
        ] {
            let decided = Decided {
                decision: Decision::Deny,
                reason: String::new(),
                message: None,
                ask: None,
                ending,
            };
            assert_eq!(request(&event(&golden)).reply(&decided), HookReply::Nothing);
        }
    }

    #[test]
    fn an_mcp_tool_never_passes_for_one_of_opencodes_own_and_no_id_leaves_its_path() {
        let mut asked = event(&golden("01_once"));
        asked["properties"]["permission"] = json!("read_file");
        asked["properties"]["metadata"] = json!({});
        let call = request(&asked).call("k".into(), None).unwrap();
        assert_eq!(call.tool, "mcp__opencode__read_file");
        assert_eq!(call.args["patterns"][0], "git status --short");
        for id in ["", "../x", "per_1/reply?", "per 1"] {
            asked["properties"]["id"] = json!(id);
            assert!(read(asked.to_string().as_bytes()).is_err(), "{id}");
        }
    }

    #[test]
    fn a_deleted_session_ends_and_other_events_are_passed_over() {
        let deleted = json!({"type": "session.deleted", "properties": {"info": {"id": "ses_1"}}});
        let ended = read(deleted.to_string().as_bytes());
        assert!(
            matches!(&ended, Ok(HookEvent::Ended { session }) if session == "ses_1"),
            "{ended:?}"
        );
        let other = json!({"type": "session.idle", "properties": {}});
        assert!(matches!(read(other.to_string().as_bytes()), Ok(HookEvent::Notice)));
        assert!(read(b"{\"type\":\"permission.asked\",\"properties\":{}}").is_err());
    }

    #[test]
    fn a_request_of_the_second_version_is_the_same_call_and_is_answered_on_its_own_route() {
        let first = event(&golden("01_once"));
        let old = &first["properties"];
        let mut second = first.clone();
        second["type"] = json!("permission.v2.asked");
        second["properties"] = json!({"id": old["id"], "sessionID": old["sessionID"],
        "action": old["permission"], "resources": old["patterns"], "metadata": old["metadata"],
        "save": ["git *"], "source": {"type": "tool"}});
        let call = |event: &Value| request(event).call("k".into(), None).unwrap();
        assert_eq!(call(&first), call(&second));
        let decided = answered(Decision::Approve, "Approved by Ana", |_| {});
        let id = old["id"].as_str().unwrap();
        let session = old["sessionID"].as_str().unwrap();
        let path = format!("/api/session/{session}/permission/{id}/reply");
        let reply = HookReply::Print(json!({"path": path, "body": {"reply": "once"}}));
        assert_eq!(request(&second).reply(&decided), reply);

        let mut asks = event(&golden("07_question_reject"));
        asks["type"] = json!("question.v2.asked");
        let id = &asks["properties"]["id"];
        let session = &asks["properties"]["sessionID"];
        let id = id.as_str().unwrap();
        let session = session.as_str().unwrap();
        let path = format!("/api/session/{session}/question/{id}/reject");
        let denied = answered(Decision::Deny, "Denied by Ana", |_| {});
        let reply = HookReply::Print(json!({"path": path, "body": {}}));
        assert_eq!(request(&asks).reply(&denied), reply);
        // Both become a part of the path.
        for wrong in ["../x", "a/b", "", "a?b", "a%2fb"] {
            for name in ["id", "sessionID"] {
                let mut hostile = second.clone();
                hostile["properties"][name] = json!(wrong);
                assert!(read(hostile.to_string().as_bytes()).is_err(), "{name}: {wrong:?}");
            }
        }
        // Both names at once say nothing.
        second["properties"]["permission"] = json!("read");
        assert!(read(second.to_string().as_bytes()).is_err());
    }
}
