//! The state of the lines between one editor and one agent.

use super::{
    call::AcpCall,
    form::Form,
    late::LateReplies,
    message::{
        AcpMessage, CANCEL, CANCEL_REQUEST, FORM, PERMISSION, UPDATE, notification, refusal, reply,
    },
    permission::PermissionOptions,
    request::{AcpRequestKind, AgentRequest, QUESTION, RequestResult},
    tool_calls::ToolCalls,
};
use crate::hosted::{EngineInput, Forward, Step};
use countersign_client::Decided;
use countersign_domain::{call::Call, wire::CancelReason};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What every call of one agent has in common.
#[derive(Debug, Clone)]
pub struct AcpContext {
    /// The agent's program, until it tells its name.
    pub program: String,
    /// The machine.
    pub host: Option<String>,
    /// A name for this run: keys with it occur in no other run.
    pub run: String,
}

/// Where a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// By the daemon alone.
    Here,
    /// By the daemon and in the editor; the first answer counts.
    InEditorToo,
}

/// One editor, one agent, and what the agent waits for.
#[derive(Debug)]
pub struct AcpProxy {
    pub(super) around: AcpContext,
    pub(super) prompts: Prompts,
    /// The folder of each session, and of each request that opens one.
    folders: HashMap<String, String>,
    opening: HashMap<String, String>,
    pub(super) calls: ToolCalls,
    pub(super) open: HashMap<String, AgentRequest>,
    late: LateReplies,
    /// Each request has its own key, even if the agent repeats an id.
    count: u64,
    pub(super) input: EngineInput,
}

impl AcpProxy {
    /// Between an editor and an agent that have not spoken yet.
    #[must_use]
    pub fn new(around: AcpContext, prompts: Prompts) -> Self {
        Self {
            around,
            prompts,
            folders: HashMap::new(),
            opening: HashMap::new(),
            calls: ToolCalls::default(),
            open: HashMap::new(),
            late: LateReplies::default(),
            count: 0,
            input: EngineInput::Open,
        }
    }

    pub(super) fn of_agent(&mut self, value: &Value, size: usize) -> (Forward, Vec<Step>) {
        let Some(message) = AcpMessage::read(value) else {
            // FAIL-CLOSED: such as a request for permission whose `params` is a list.
            let method = value.get("method").and_then(Value::as_str);
            let id = value.get("id").filter(|_| matches!(method, Some(PERMISSION | FORM)));
            return match id {
                Some(id) => (Forward::Stays, vec![Step::Send(refusal(id))]),
                None => (Forward::On, Vec::new()),
            };
        };
        if message.asks_for(PERMISSION) {
            return (Forward::Stays, self.permission(value, &message));
        }
        if message.asks_for(FORM) {
            return self.form(value, &message);
        }
        match message.method.as_deref() {
            Some(UPDATE) => self.calls.note(&message, size),
            Some(CANCEL_REQUEST) => return self.taken_back(&message),
            None => self.learn(&message),
            Some(_) => {}
        }
        (Forward::On, Vec::new())
    }

    pub(super) fn of_editor(&mut self, value: &Value) -> (Forward, Vec<Step>) {
        let Some(message) = AcpMessage::read(value) else { return (Forward::On, Vec::new()) };
        if message.is_reply() {
            return self.answered_there(&message.id);
        }
        if message.method.as_deref() == Some(CANCEL) {
            let session = message.text("sessionId").unwrap_or_default();
            return (Forward::On, self.turn_cancelled(session));
        }
        if let Some(cwd) = message.text("cwd") {
            match message.text("sessionId") {
                Some(session) => self.folders.insert(session.to_owned(), cwd.to_owned()),
                None => self.opening.insert(message.id.to_string(), cwd.to_owned()),
            };
        }
        (Forward::On, Vec::new())
    }

    fn permission(&mut self, value: &Value, message: &AcpMessage) -> Vec<Step> {
        let session = message.text("sessionId").unwrap_or_default().to_owned();
        let fields = message.params.get("toolCall").and_then(Value::as_object);
        let fields = self.calls.of(&session, fields.unwrap_or(&Map::new()));
        let options = PermissionOptions::read(message.params.get("options"));
        let call = self.placed(AcpCall::read(&fields).of(&self.around.program, &session));
        let wants = AcpRequestKind::Permission(options, Box::new(call.clone()));
        let line = Some(value.to_string());
        self.submit(AgentRequest { id: message.id.clone(), session, wants, line }, call)
    }

    fn form(&mut self, value: &Value, message: &AcpMessage) -> (Forward, Vec<Step>) {
        // Such as one that opens a web page: it is for the editor.
        let Some(form) = Form::read(&message.params) else { return (Forward::On, Vec::new()) };
        let session = message.text("sessionId").unwrap_or_default().to_owned();
        let empty = Call::new(&self.around.program, &session, QUESTION, json!({}));
        let call = self.placed(Call { questions: form.questions(), ..empty });
        if call.check().is_err() {
            return (Forward::On, Vec::new());
        }
        let (wants, line) = (AcpRequestKind::Form(form), Some(value.to_string()));
        let request = AgentRequest { id: message.id.clone(), session, wants, line };
        (Forward::Stays, self.submit(request, call))
    }

    fn placed(&self, call: Call) -> Call {
        let cwd = self.folders.get(&call.session).cloned();
        Call { host: self.around.host.clone(), cwd, ..call }
    }

    fn submit(&mut self, request: AgentRequest, call: Call) -> Vec<Step> {
        self.count += 1;
        let key = format!("{}-{}", self.around.run, self.count);
        let call = Call { key: Some(key.clone()), ..call };
        if let Err(wrong) = call.check() {
            return self.undecided(request, &wrong.to_string());
        }
        self.open.insert(key.clone(), request);
        vec![Step::Submit { key, call: Box::new(call) }]
    }

    pub(super) fn answer(&mut self, open: AgentRequest, decided: &Decided) -> Vec<Step> {
        match open.result(decided) {
            RequestResult::None => Vec::new(),
            RequestResult::Result(result) => self.reply(open, &result),
            RequestResult::Further(wants, call) => {
                self.submit(AgentRequest { wants, ..open }, *call)
            }
            RequestResult::Stop(result) => {
                let session = open.session.clone();
                let mut steps = self.reply(open, &result);
                // As the editor's own stop button does.
                let cancel = notification(CANCEL, &json!({ "sessionId": session }));
                steps.push(Step::Send(cancel));
                steps.extend(self.turn_cancelled(&session));
                steps
            }
        }
    }

    /// Without a decision the editor decides, where it was to be asked.
    // FAIL-CLOSED: elsewhere the call is denied.
    pub(super) fn undecided(&mut self, mut open: AgentRequest, why: &str) -> Vec<Step> {
        let log = Step::Log(format!("countersign could not decide: {why}"));
        if self.prompts == Prompts::InEditorToo {
            // The editor may show it already.
            let line = open.line.take().map(Step::Tell);
            return std::iter::once(log).chain(line).collect();
        }
        let result = open.denied(why);
        std::iter::once(log).chain(self.reply(open, &result)).collect()
    }

    fn reply(&mut self, open: AgentRequest, result: &Value) -> Vec<Step> {
        let mut steps = vec![Step::Send(reply(&open.id, result))];
        if open.stands_in_editor() {
            let cancel = notification(CANCEL_REQUEST, &json!({ "requestId": open.id }));
            steps.push(Step::Tell(cancel));
            self.late.expect(open.id);
        }
        steps
    }

    /// A reply of the editor: to a request that stood there too, or to another one.
    // SECURITY: a late reply to an earlier request must not answer a later one with the same id.
    fn answered_there(&mut self, id: &Value) -> (Forward, Vec<Step>) {
        if self.late.forward(id) == Forward::Stays {
            return (Forward::Stays, Vec::new());
        }
        let is_it = |(_, open): &(&String, &AgentRequest)| open.id == *id;
        let found = self.open.iter().find(is_it);
        if let Some((key, in_editor)) = found.map(|(key, it)| (key.clone(), it.stands_in_editor()))
        {
            // SECURITY: the editor never got this request, so it has no answer to it.
            if !in_editor {
                return (Forward::Stays, Vec::new());
            }
            self.open.remove(&key);
            let why = CancelReason::AnsweredElsewhere;
            return (Forward::On, vec![Step::Cancel { key, why }]);
        }
        (Forward::On, Vec::new())
    }

    /// The editor ends the turn: every request of the session is cancelled, as the protocol wants.
    fn turn_cancelled(&mut self, session: &str) -> Vec<Step> {
        let gone = self.open.extract_if(|_, open| open.session == session);
        let gone = gone.flat_map(|(key, open)| {
            let line = || Step::Send(reply(&open.id, &open.cancelled()));
            // What the editor shows, the editor answers itself.
            let answer = (!open.stands_in_editor()).then(line);
            let back = Step::Cancel { key, why: CancelReason::Aborted };
            [answer, Some(back)].into_iter().flatten()
        });
        gone.collect()
    }

    /// The agent takes a request back.
    fn taken_back(&mut self, message: &AcpMessage) -> (Forward, Vec<Step>) {
        let id = message.params.get("requestId").unwrap_or(&Value::Null);
        let mut forward = Forward::On;
        let gone = self.open.extract_if(|_, open| open.id == *id);
        let steps = gone.map(|(key, open)| {
            if !open.stands_in_editor() {
                forward = Forward::Stays;
            }
            Step::Cancel { key, why: CancelReason::Aborted }
        });
        let steps = steps.collect();
        (forward, steps)
    }

    /// What replies of the agent tell: its name, and the name of a session that was opened.
    fn learn(&mut self, message: &AcpMessage) {
        let told = message.result.get("agentInfo").and_then(|info| info["name"].as_str());
        // A package's name has its scope before it: `@agentclientprotocol/claude-agent-acp`.
        let told = told.and_then(|name| name.rsplit('/').next());
        if let Some(name) = told.filter(|name| !name.trim().is_empty()) {
            self.around.program = name.to_owned();
        }
        let session = message.result.get("sessionId").and_then(Value::as_str);
        if let Some(cwd) = self.opening.remove(&message.id.to_string())
            && let Some(session) = session
        {
            self.folders.insert(session.to_owned(), cwd);
        }
    }
}
