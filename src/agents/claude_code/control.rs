//! Claude Code without a terminal, as its host: `--input-format stream-json` and
//! `--permission-prompt-tool stdio`. Its `can_use_tool` requests are answered here; everything else
//! is passed on unchanged.
//!
//! INVARIANT: every request has at most one answer, and one that Claude Code cancelled has none.

mod envelope;

use super::request::{NAME, PLAN, PermissionRequest, denial};
use crate::{
    agent::HookRequest as _,
    hosted::{EngineInput, Forward, HostedSession, Step},
    waiting::{CallOrigin, Waiting},
};
use countersign_client::Decided;
use countersign_domain::{exact_json, wire::CancelReason};
use envelope::{ControlRequest, UnreadableRequest};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// How a result says that a call was put off.
const PUT_OFF: &str = "tool_deferred";

/// One run of Claude Code.
#[derive(Debug)]
pub struct ControlSession {
    origin: CallOrigin,
    mode: Option<String>,
    waiting: Waiting<OpenPrompt>,
    /// The keys of answered requests, by request.
    answered: HashMap<String, String>,
    /// Whether our own host can answer the requests that are not ours.
    has_host: bool,
    /// Why nobody can answer a request of Claude Code, which waits for ever.
    stuck: Option<String>,
    /// The messages of the user so far, and the results: each message ends with one.
    messages: u64,
    results: u64,
    host_gone: bool,
    end: ControlEnd,
}

/// What the last result of a run says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlEnd {
    /// The call that was put off, by its id at Claude Code: the run ended there.
    pub put_off: Option<String>,
    /// What the session has cost so far, in US dollars, earlier processes included.
    pub cost_usd: Option<f64>,
}

#[derive(Debug)]
struct OpenPrompt {
    request: Value,
    prompt: PermissionRequest,
}

impl ControlSession {
    /// A run that has not started.
    #[must_use]
    pub fn new(origin: CallOrigin) -> Self {
        Self {
            waiting: Waiting::new(&origin.run),
            origin,
            mode: None,
            answered: HashMap::new(),
            has_host: true,
            stuck: None,
            messages: 0,
            results: 0,
            host_gone: false,
            end: ControlEnd::default(),
        }
    }

    /// The same run with a prompt of its own, so that nobody else answers what is not ours.
    #[must_use]
    pub fn without_host(self) -> Self {
        Self { has_host: false, ..self }
    }

    /// The same run where it goes on from a call that was put off, without a message.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { messages: 1, ..self }
    }

    /// What its last result says.
    #[must_use]
    pub fn end(&self) -> &ControlEnd {
        &self.end
    }

    /// Answers a request that no card can show.
    // FAIL-CLOSED: without an answer the turn would wait for ever; each answer here grants nothing.
    fn unreadable(&mut self, request: UnreadableRequest) -> Vec<Step> {
        let UnreadableRequest { id, is_prompt, why } = request;
        let message = format!("countersign cannot read this request, so nobody approved it: {why}");
        let log = Step::Log(format!("Claude Code: {message}"));
        match id {
            Some(id) if is_prompt => {
                vec![log, response(&id, &denial(&message))]
            }
            Some(id) => vec![log, refusal(&id, &message)],
            None => {
                self.stuck.get_or_insert(format!("{message}; it has no id to answer under"));
                vec![log]
            }
        }
    }

    fn requested(&mut self, id: Value, request: &Map<String, Value>) -> Vec<Step> {
        // An id that comes again is a new request; a press on the earlier card must not answer it.
        let mut steps = self.taken_back(&id, CancelReason::Aborted);
        self.answered.remove(&id.to_string());
        let submitted = self.prompt(request).and_then(|prompt| {
            let call = prompt.call(String::new(), self.origin.host.clone())?;
            let open = OpenPrompt { request: id.clone(), prompt };
            self.waiting.submit(open, call).map_err(|(_, why)| why)
        });
        // FAIL-CLOSED: a request that cannot be shown is denied instead of left waiting.
        let denied = |why: String| response(&id, &denial(&why));
        steps.push(submitted.unwrap_or_else(denied));
        steps
    }

    fn prompt(&self, request: &Map<String, Value>) -> Result<PermissionRequest, String> {
        let text = |name: &str| request.get(name)?.as_str().map(str::to_owned);
        let Some(tool) = text("tool_name") else {
            return Err("`tool_name` is missing, or is not a text".to_owned());
        };
        let input = request.get("input").cloned().unwrap_or_default();
        let CallOrigin { session, cwd, .. } = self.origin.clone();
        let prompt = PermissionRequest::of_prompt(session, cwd, tool, input)?;
        Ok(prompt.within(self.mode.clone(), text("agent_id")))
    }

    fn taken_back(&mut self, request: &Value, why: CancelReason) -> Vec<Step> {
        self.waiting.take_back(|open| open.request == *request, why)
    }

    /// Claude Code takes no answer to a request any more, because a hook or its terminal gave one.
    fn cancelled(&mut self, request: &Value) -> Vec<Step> {
        let why = CancelReason::AnsweredElsewhere;
        let mut steps = self.taken_back(request, why);
        // Ours was on its way already, and came too late.
        steps.extend(
            self.answered.remove(&request.to_string()).map(|key| Step::Cancel { key, why }),
        );
        steps
    }

    /// What Claude Code says of itself.
    fn system(&mut self, line: &Map<String, Value>) {
        let text = |name: &str| line.get(name).and_then(Value::as_str).map(str::to_owned);
        if let Some(session) = text("session_id").filter(|name| !name.trim().is_empty()) {
            self.origin.session = session;
        }
        if let Some(cwd) = text("cwd").filter(|cwd| !cwd.trim().is_empty()) {
            self.origin.cwd = Some(cwd);
        }
        if let Some(mode) = text("permissionMode") {
            self.mode = Some(mode);
        }
    }
}

impl HostedSession for ControlSession {
    fn agent(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        &self.origin.session
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        let on = (Forward::On, Vec::new());
        let line = match exact_json::from_slice(line) {
            Ok(Value::Object(line)) => line,
            Ok(_) => return on,
            Err(error) => {
                return match envelope::broken(line, &error) {
                    Some(request) => (Forward::Stays, self.unreadable(request)),
                    None => on,
                };
            }
        };
        match line.get("type").and_then(Value::as_str) {
            Some("system") => self.system(&line),
            Some("result") => {
                self.results += 1;
                self.end = ControlEnd {
                    put_off: put_off(&line),
                    cost_usd: line.get("total_cost_usd").and_then(Value::as_f64),
                };
            }
            Some("control_request") => {
                return match envelope::of(&line, self.has_host) {
                    ControlRequest::Prompt { id, request } => {
                        (Forward::Stays, self.requested(id, request))
                    }
                    ControlRequest::OfHost => on,
                    ControlRequest::Unreadable(request) => {
                        (Forward::Stays, self.unreadable(request))
                    }
                };
            }
            Some("control_cancel_request") => {
                let steps = line.get("request_id").map(|id| self.cancelled(id));
                return match steps {
                    Some(steps) if !steps.is_empty() => (Forward::Stays, steps),
                    _ => on,
                };
            }
            _ => {}
        }
        on
    }

    fn host_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        let line: Option<Value> = serde_json::from_slice(line).ok();
        let kind = line.as_ref().and_then(|line| line.get("type")?.as_str());
        self.messages += u64::from(kind == Some("user"));
        (Forward::On, Vec::new())
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry it was cancelled; the later decision is dropped.
        let Some(OpenPrompt { request, prompt }) = self.waiting.open.remove(key) else {
            return Vec::new();
        };
        let reply = match decided {
            Ok(decided) => prompt.prompt_reply(decided),
            Err(why) => denial(&format!("countersign could not decide: {why}")),
        };
        // Leaving the plan mode leads to a mode that Claude Code does not always tell.
        if prompt.tool() == PLAN
            && reply.get("behavior").is_some_and(|behavior| behavior == "allow")
        {
            self.mode = None;
        }
        self.answered.insert(request.to_string(), key.to_owned());
        vec![response(&request, &reply)]
    }

    fn host_ended(&mut self) -> Vec<Step> {
        // What runs goes on to its end, and its prompts are still answered.
        self.host_gone = true;
        Vec::new()
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.waiting.take_back(|_| true, why)
    }

    fn failure(&self) -> Option<String> {
        self.stuck.clone()
    }

    fn input(&self) -> EngineInput {
        if self.stuck.is_some() {
            return EngineInput::Abandoned;
        }
        match self.host_gone && self.waiting.open.is_empty() {
            true if self.results >= self.messages => EngineInput::Over,
            // Claude Code may answer a message that came while it worked in the same turn.
            true if self.results > 0 => EngineInput::OverWhenQuiet,
            _ => EngineInput::Open,
        }
    }
}

/// The call that a result says was put off.
fn put_off(result: &Map<String, Value>) -> Option<String> {
    let call = result
        .get("deferred_tool_use")
        .filter(|_| result.get("stop_reason").is_some_and(|reason| reason == PUT_OFF))?;
    call.get("id")?.as_str().map(str::to_owned)
}

fn refusal(request: &Value, why: &str) -> Step {
    let response = json!({"subtype": "error", "request_id": request, "error": why});
    Step::Send(json!({"type": "control_response", "response": response}).to_string())
}

fn response(request: &Value, reply: &Value) -> Step {
    let response = json!({"subtype": "success", "request_id": request, "response": reply});
    Step::Send(json!({"type": "control_response", "response": response}).to_string())
}

#[cfg(test)]
mod tests;
