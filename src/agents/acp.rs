//! Agents of the Agent Client Protocol (version 1), between an editor and its agent. Pure;
//! `cli::host` moves the lines.
//!
//! Every line is passed on unchanged, except permission requests and forms of the agent, which
//! become asks. Source of the names: <https://agentclientprotocol.com/protocol/schema>.
//!
//! INVARIANT: every request of the agent gets one reply: ours, or that of the editor, whichever
//! comes first; the other is cancelled or dropped.

mod call;
mod form;
mod modes;
mod request;

use crate::{
    acp::{
        call::{AcpCall, ToolCalls},
        form::Form,
        modes::Modes,
        request::{AcpRequestKind, AgentRequest, PermissionOptions, QUESTION, RequestResult},
    },
    hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step},
    line_head::{LineHead, MessageHead},
    waiting::Waiting,
};
use countersign_client::Decided;
use countersign_domain::{call::Call, exact_json, wire::CancelReason};
use serde::{Deserialize, Serialize};
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
    /// The mode that its person wants the agent to work in.
    pub mode: Option<String>,
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
    around: AcpContext,
    prompts: Prompts,
    /// The folder of each session, and of each request that opens one.
    folders: HashMap<String, String>,
    opening: HashMap<String, String>,
    /// The session of each request that opens one again.
    loading: HashMap<String, String>,
    calls: ToolCalls,
    waiting: Waiting<AgentRequest>,
    late: LateReplies,
    modes: Modes,
    input: EngineInput,
}

impl AcpProxy {
    /// Between an editor and an agent that have not spoken yet.
    #[must_use]
    pub fn new(around: AcpContext, prompts: Prompts) -> Self {
        Self {
            modes: Modes::new(around.mode.clone(), &around.run),
            waiting: Waiting::new(&around.run),
            around,
            prompts,
            folders: HashMap::new(),
            opening: HashMap::new(),
            loading: HashMap::new(),
            calls: ToolCalls::default(),
            late: LateReplies::default(),
            input: EngineInput::Open,
        }
    }

    fn of_agent(&mut self, value: &Value, size: usize) -> (Forward, Vec<Step>) {
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
            None => return self.replied(&message),
            Some(_) => {}
        }
        (Forward::On, Vec::new())
    }

    /// A reply of the agent, to the editor or to us.
    fn replied(&mut self, message: &AcpMessage) -> (Forward, Vec<Step>) {
        let name = &self.around.program;
        if let Some(log) = self.modes.answered(&message.id, &message.error, name) {
            return (Forward::Stays, log.map(Step::Log).into_iter().collect());
        }
        let session = self.learn(message);
        let opened = session
            .and_then(|session| self.modes.opened(&session, &message.result, &self.around.program));
        (Forward::On, opened.into_iter().collect())
    }

    fn of_editor(&mut self, value: &Value) -> (Forward, Vec<Step>) {
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
                Some(session) => {
                    self.folders.insert(session.to_owned(), cwd.to_owned());
                    self.loading.insert(message.id.to_string(), session.to_owned());
                }
                None => _ = self.opening.insert(message.id.to_string(), cwd.to_owned()),
            }
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
        let wants = AcpRequestKind::Form(form);
        let line = Some(value.to_string());
        let request = AgentRequest { id: message.id.clone(), session, wants, line };
        (Forward::Stays, self.submit(request, call))
    }

    fn placed(&self, call: Call) -> Call {
        let cwd = self.folders.get(&call.session).cloned();
        Call { host: self.around.host.clone(), cwd, ..call }
    }

    fn submit(&mut self, request: AgentRequest, call: Call) -> Vec<Step> {
        match self.waiting.submit(request, call) {
            Ok(step) => vec![step],
            Err((request, wrong)) => self.undecided(request, &wrong),
        }
    }

    fn answer(&mut self, open: AgentRequest, decided: &Decided) -> Vec<Step> {
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
    fn undecided(&mut self, mut open: AgentRequest, why: &str) -> Vec<Step> {
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
        let found = self.waiting.open.iter().find(is_it);
        if let Some((key, in_editor)) = found.map(|(key, it)| (key.clone(), it.stands_in_editor()))
        {
            // SECURITY: the editor never got this request, so it has no answer to it.
            if !in_editor {
                return (Forward::Stays, Vec::new());
            }
            self.waiting.open.remove(&key);
            let why = CancelReason::AnsweredElsewhere;
            return (Forward::On, vec![Step::Cancel { key, why }]);
        }
        (Forward::On, Vec::new())
    }

    /// The editor ends the turn: every request of the session is cancelled, as the protocol wants.
    fn turn_cancelled(&mut self, session: &str) -> Vec<Step> {
        let gone = self.waiting.open.extract_if(|_, open| open.session == session);
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
        let gone = self.waiting.open.extract_if(|_, open| open.id == *id);
        let steps = gone.map(|(key, open)| {
            if !open.stands_in_editor() {
                forward = Forward::Stays;
            }
            Step::Cancel { key, why: CancelReason::Aborted }
        });
        let steps = steps.collect();
        (forward, steps)
    }

    /// What replies of the agent tell: its name, and the name of a session that was opened, which is
    /// returned.
    fn learn(&mut self, message: &AcpMessage) -> Option<String> {
        let told = message.result.get("agentInfo").and_then(|info| info["name"].as_str());
        // A package's name has its scope before it: `@agentclientprotocol/claude-agent-acp`.
        let told = told.and_then(|name| name.rsplit('/').next());
        if let Some(name) = told.filter(|name| !name.trim().is_empty()) {
            self.around.program = name.to_owned();
        }
        let id = message.id.to_string();
        if let Some(session) = self.loading.remove(&id) {
            return Some(session);
        }
        let cwd = self.opening.remove(&id)?;
        let session = message.result.get("sessionId")?.as_str()?.to_owned();
        self.folders.insert(session.clone(), cwd);
        Some(session)
    }
}

impl HostedSession for AcpProxy {
    fn agent(&self) -> &str {
        &self.around.program
    }

    // Each call names the session of the protocol that it belongs to.
    fn name(&self) -> &'static str {
        ""
    }

    fn program(&self) -> &'static str {
        "the agent"
    }

    fn engine_line(&mut self, bytes: &[u8]) -> (Forward, Vec<Step>) {
        match refused(bytes) {
            Some(steps) => (Forward::Stays, steps),
            None if !is_readable(bytes) => {
                // FAIL-CLOSED: it may change a call that was told before.
                self.calls = ToolCalls::default();
                (Forward::On, Vec::new())
            }
            None => each(bytes, Step::Tell, |value| self.of_agent(value, bytes.len())),
        }
    }

    fn host_line(&mut self, bytes: &[u8]) -> (Forward, Vec<Step>) {
        each(bytes, Step::Send, |value| self.of_editor(value))
    }

    fn opened(&mut self, key: &str, _ask: &str) -> Vec<Step> {
        let raced = self.prompts == Prompts::InEditorToo;
        let open = self.waiting.open.get_mut(key).filter(|_| raced);
        let line = open.and_then(|open| open.line.take());
        line.map(Step::Tell).into_iter().collect()
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry the editor was first; the later decision is dropped.
        let Some(open) = self.waiting.open.remove(key) else { return Vec::new() };
        match decided {
            Ok(decided) => self.answer(open, decided),
            Err(why) => self.undecided(open, &why),
        }
    }

    fn host_ended(&mut self) -> Vec<Step> {
        // An agent without its editor works for nobody.
        self.input = EngineInput::Abandoned;
        self.engine_ended(CancelReason::SessionEnded)
    }

    fn engine_ended(&mut self, _why: CancelReason) -> Vec<Step> {
        self.waiting.take_back(|_| true, CancelReason::SessionEnded)
    }

    fn ends(&self) -> SessionEnd {
        SessionEnd::Elsewhere
    }

    fn input(&self) -> EngineInput {
        self.input
    }
}

/// The agent's request for permission.
const PERMISSION: &str = "session/request_permission";
/// The agent's form for a person.
const FORM: &str = "elicitation/create";
/// News about a session, such as its tool calls.
const UPDATE: &str = "session/update";
/// The editor ends the turn.
const CANCEL: &str = "session/cancel";
/// Either side takes a request back.
const CANCEL_REQUEST: &str = "$/cancel_request";

/// A message, as far as the proxy needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AcpMessage {
    #[serde(default)]
    id: Value,
    method: Option<String>,
    #[serde(default)]
    params: Map<String, Value>,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Value,
}

impl AcpMessage {
    /// Reads one message. What cannot be read concerns the other side alone.
    fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Whether it is a request of this method.
    fn asks_for(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method) && !self.id.is_null()
    }

    fn is_reply(&self) -> bool {
        self.method.is_none() && !self.id.is_null()
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }
}

/// A line with a result.
fn reply(id: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

/// A line that refuses a request which cannot be read.
fn refusal(id: &Value) -> String {
    let message = "countersign cannot read this request, so it is not allowed";
    let error = json!({ "code": -32602, "message": message });
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
}

/// A line with a notification.
fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// Handles the message of a line, or each of a batch. What is left of a batch that loses messages
/// is passed on by the first step, which `rest` makes.
fn each(
    bytes: &[u8],
    rest: fn(String) -> Step,
    mut handle: impl FnMut(&Value) -> (Forward, Vec<Step>),
) -> (Forward, Vec<Step>) {
    match exact_json::from_slice::<Value>(bytes) {
        Ok(Value::Array(batch)) => {
            let mut left = Vec::new();
            let mut steps = Vec::new();
            let all = batch.len();
            for message in batch {
                let (forward, todo) = handle(&message);
                steps.extend(todo);
                if forward == Forward::On {
                    left.push(message);
                }
            }
            if left.len() == all {
                // Byte for byte, as it came.
                return (Forward::On, steps);
            }
            if !left.is_empty() {
                steps.insert(0, rest(Value::Array(left).to_string()));
            }
            (Forward::Stays, steps)
        }
        Ok(message) => handle(&message),
        // What is no JSON is not ours to judge.
        Err(_) => (Forward::On, Vec::new()),
    }
}

// Lines of the agent that must not reach the editor, because it may read a request in them that we
// cannot.

/// The steps for a line that is not passed on; `None` for every other line.
// FAIL-CLOSED: an agent that hides its request from us would have it answered by the editor alone,
// past every rule.
fn refused(line: &[u8]) -> Option<Vec<Step>> {
    let why = |what: &str| Step::Log(format!("a line of the agent is dropped: {what}"));
    match LineHead::read(line) {
        LineHead::NotJson => None,
        LineHead::Ambiguous => {
            Some(vec![why("it can be read in two ways, such as with a field that comes twice")])
        }
        LineHead::Messages(heads) => {
            let readable = is_readable(line);
            let is_odd = |id: &Value| !(id.is_string() || id.is_number());
            let asks = |head: &&MessageHead| {
                matches!(head.method.as_deref(), Some(PERMISSION | FORM))
                    && (!readable || head.id.as_ref().is_some_and(is_odd))
            };
            let asking: Vec<_> = heads.iter().filter(asks).collect();
            if asking.is_empty() {
                return None;
            }
            let ids = asking.iter().filter_map(|head| head.id.as_ref());
            let replies = ids.map(|id| Step::Send(refusal(id)));
            let log = why("it asks for permission in a way that cannot be read");
            Some(std::iter::once(log).chain(replies).collect())
        }
    }
}

/// Whether all values of a line arrive as they were sent.
fn is_readable(line: &[u8]) -> bool {
    exact_json::from_slice::<Value>(line).is_ok()
}

/// How many are kept.
const MOST_LATE: usize = 256;

/// The ids of such requests.
#[derive(Debug, Default)]
struct LateReplies(Vec<Value>);

impl LateReplies {
    fn expect(&mut self, id: Value) {
        self.0.push(id);
        let many = self.0.len().saturating_sub(MOST_LATE);
        self.0.drain(..many);
    }

    /// A late reply stays here, once.
    fn forward(&mut self, id: &Value) -> Forward {
        match self.0.iter().position(|late| late == id) {
            Some(at) => {
                self.0.remove(at);
                Forward::Stays
            }
            None => Forward::On,
        }
    }
}

#[cfg(test)]
mod tests;
