//! Codex without a terminal: one prompt for an app-server of our own, on its stdin and stdout.
//! Nobody else is there for its requests, so each gets a reply.
//!
//! INVARIANT: every request has at most one reply, none of them an error, and one that Codex
//! resolved has none.

use super::{
    frame::{self, CodexFrame, CodexThread, ServerRequest},
    outage::CodexOutage,
    request::{CodexReply, CodexRequest, NAME, RequestContext, for_the_model, stops},
};
use crate::{
    agents::{
        hook_call::message,
        hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step},
    },
    client::Decided,
};
use countersign_protocol::CancelReason;
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};

/// What is written to our stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodexOutput {
    /// What the agent says.
    Messages,
    /// Every frame of the app-server, unchanged.
    Frames,
}

/// One prompt, and what Codex asks until it is done.
#[derive(Debug)]
pub struct CodexRun {
    prompt: String,
    cwd: Option<String>,
    host: Option<String>,
    output: CodexOutput,
    /// The thread of the prompt, once it is there.
    thread: Option<String>,
    /// The changes of files, by item.
    changes: HashMap<String, Value>,
    open: HashMap<String, RunRequest>,
    outage: CodexOutage,
    /// The end of the turn, and the reason where it is a bad one.
    end: Option<Result<(), String>>,
}

/// A request that waits for its decision.
#[derive(Debug)]
struct RunRequest {
    id: Value,
    thread: String,
    request: CodexRequest,
}

impl CodexRun {
    /// A run that has not started.
    #[must_use]
    pub fn new(
        prompt: String,
        cwd: Option<String>,
        host: Option<String>,
        output: CodexOutput,
    ) -> Self {
        let (changes, open) = (HashMap::new(), HashMap::new());
        let outage = CodexOutage::new(Duration::from_mins(2));
        Self { prompt, cwd, host, output, thread: None, changes, open, outage, end: None }
    }

    /// The same run, which ends after an error that lasts for this time. It is two minutes.
    #[must_use]
    pub fn ending_after(mut self, limit: Duration) -> Self {
        self.outage = CodexOutage::new(limit);
        self
    }

    /// The first lines for the app-server.
    #[must_use]
    pub fn opening(&self) -> Vec<String> {
        let start = frame::start(self.cwd.as_deref());
        frame::hello().into_iter().chain([start]).map(|frame| frame.to_string()).collect()
    }

    fn received(&mut self, text: &str) -> Vec<Step> {
        let frame = frame::read(text);
        if let CodexFrame::Error { why } = frame {
            return match self.outage.begins(why.clone()) {
                true => vec![Step::Log(format!("Codex: {why}"))],
                false => Vec::new(),
            };
        }
        if frame != CodexFrame::Other {
            self.outage.is_over();
        }
        match frame {
            CodexFrame::Thread(thread) => self.thread(thread),
            CodexFrame::Request(request) => self.requested(&request),
            CodexFrame::Resolved { thread, id } => self.take_back(
                |open| open.thread == thread && open.id == id,
                CancelReason::AnsweredElsewhere,
            ),
            CodexFrame::Closed { thread } => {
                self.take_back(|open| open.thread == thread, CancelReason::SessionEnded)
            }
            CodexFrame::Said { thread, text } if self.is_main(&thread) => match self.output {
                CodexOutput::Messages => vec![Step::Tell(text)],
                CodexOutput::Frames => Vec::new(),
            },
            CodexFrame::TurnEnded { thread, status, error } if self.is_main(&thread) => {
                self.end.get_or_insert(match (status.as_str(), error) {
                    ("completed", None) => Ok(()),
                    (_, Some(why)) => Err(format!("Codex's turn ended as {status}: {why}")),
                    (_, None) => Err(format!("Codex's turn ended as {status}")),
                });
                Vec::new()
            }
            CodexFrame::Refused { asked, why } => {
                // Words for a turn that has just ended reach nobody; the others are needed.
                if ["initialize", "thread", "turn"].contains(&asked.as_str()) {
                    self.end.get_or_insert(Err(format!("Codex refused to start: {why}")));
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn is_main(&self, thread: &str) -> bool {
        self.thread.as_deref() == Some(thread)
    }

    /// Takes in what is known of a thread; the first one gets the prompt.
    fn thread(&mut self, told: CodexThread) -> Vec<Step> {
        self.changes.extend(told.changes);
        let is_ours = self.thread.is_none() && told.cwd.is_some();
        if !is_ours {
            return Vec::new();
        }
        self.cwd = told.cwd;
        let prompt = frame::prompt(&told.id, &self.prompt);
        self.thread = Some(told.id);
        vec![Step::Send(prompt.to_string())]
    }

    fn requested(&mut self, asked: &ServerRequest) -> Vec<Step> {
        let Some(thread) = asked.thread().map(str::to_owned) else { return self.refused(asked) };
        let changes = self.changes.get(asked.item().unwrap_or_default());
        let (cwd, host) = (self.cwd.as_deref(), self.host.as_deref());
        let request = CodexRequest::of(asked, RequestContext { cwd, changes, host });
        let Some(mut request) = request else { return self.refused(asked) };
        if let Some(main) = self.thread.clone().filter(|main| *main != thread) {
            request.call.session = main;
            request.call.meta = Some(json!({ "agent_id": thread }));
        }
        let Some(key) = request.call.key.clone() else { return self.refused(asked) };
        let (id, call) = (asked.id.clone(), request.call.clone());
        let open = RunRequest { id, thread, request };
        if let Err(wrong) = call.check() {
            return open.steps(open.request.denial(&wrong.to_string()));
        }
        // An id that comes again is a new request; a press on the earlier card must not answer it.
        let mut steps = self.take_back(|earlier| earlier.id == open.id, CancelReason::Aborted);
        self.open.insert(key.clone(), open);
        steps.push(Step::Submit { key, call: Box::new(call) });
        steps
    }

    /// Denies a request that no card can show.
    // FAIL-CLOSED: without a reply the turn would wait for ever; each reply here grants nothing.
    fn refused(&mut self, asked: &ServerRequest) -> Vec<Step> {
        let method = asked.method.as_str();
        let result = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                json!({"decision": "decline"})
            }
            "item/tool/requestUserInput" => json!({"answers": {}}),
            "item/permissions/requestApproval" => json!({"permissions": {}, "scope": "turn"}),
            "mcpServer/elicitation/request" => json!({"action": "decline"}),
            "item/tool/call" => json!({"contentItems": [], "success": false}),
            "applyPatchApproval" | "execCommandApproval" => json!({"decision": "denied"}),
            _ => {
                self.end.get_or_insert(Err(format!("Codex asks for {method}, which is unknown")));
                return Vec::new();
            }
        };
        let why = format!("no card can show this request ({method}), so it is denied");
        let turn = asked.params.get("turnId").and_then(Value::as_str);
        let words = asked.thread().zip(turn).map(|(thread, turn)| {
            Step::Send(frame::tell(thread, turn, &for_the_model(&why)).to_string())
        });
        let reply = Step::Send(frame::answer(&asked.id, &result).to_string());
        [Step::Log(format!("Codex: {why}")), reply].into_iter().chain(words).collect()
    }

    fn take_back(&mut self, which: impl Fn(&RunRequest) -> bool, why: CancelReason) -> Vec<Step> {
        let gone = self.open.extract_if(|_, open| which(open));
        gone.map(|(key, _)| Step::Cancel { key, why }).collect()
    }
}

impl RunRequest {
    fn steps(&self, CodexReply { result, words }: CodexReply) -> Vec<Step> {
        let words = words.map(|words| frame::tell(&self.thread, &self.request.turn, &words));
        let frames = [frame::answer(&self.id, &result)].into_iter().chain(words);
        frames.map(|frame| Step::Send(frame.to_string())).collect()
    }
}

impl HostedSession for CodexRun {
    fn agent(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        self.thread.as_deref().unwrap_or_default()
    }

    fn program(&self) -> &'static str {
        "Codex"
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        let steps =
            std::str::from_utf8(line).map_or_else(|_| Vec::new(), |line| self.received(line));
        let forward = match self.output {
            CodexOutput::Frames => Forward::On,
            CodexOutput::Messages => Forward::Stays,
        };
        (forward, steps)
    }

    // The opening; nothing else comes from this side.
    fn host_line(&mut self, _line: &[u8]) -> (Forward, Vec<Step>) {
        (Forward::On, Vec::new())
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry it was resolved; the later decision is dropped.
        let Some(open) = self.open.remove(key) else { return Vec::new() };
        let reply = match &decided {
            Ok(decided) => open
                .request
                .reply(decided)
                .unwrap_or_else(|| open.request.denial(&message(decided))),
            Err(why) => open.request.denial(&format!("it could not decide: {why}")),
        };
        let stopped = decided.is_ok_and(|decided| stops(&decided.ending));
        let mut steps = open.steps(reply);
        // A reply to questions cannot end the turn, as one to other requests can.
        if stopped && open.request.asks_questions() {
            let interrupt = frame::interrupt(&open.thread, &open.request.turn);
            steps.push(Step::Send(interrupt.to_string()));
        }
        steps
    }

    // A person may think for as long as they like: that is no error.
    fn tick(&mut self) -> Vec<Step> {
        if self.open.is_empty()
            && let Some(why) = self.outage.tick()
        {
            self.end.get_or_insert(Err(why));
        }
        Vec::new()
    }

    fn host_ended(&mut self) -> Vec<Step> {
        Vec::new()
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.end.get_or_insert(Err("Codex ended before its turn did".to_owned()));
        self.take_back(|_| true, why)
    }

    fn ends(&self) -> SessionEnd {
        match self.thread {
            Some(_) => SessionEnd::WithProgram,
            None => SessionEnd::Elsewhere,
        }
    }

    fn input(&self) -> EngineInput {
        match self.end {
            Some(_) if self.outage.gave_up() => EngineInput::Abandoned,
            Some(_) => EngineInput::Over,
            None => EngineInput::Open,
        }
    }

    fn failure(&self) -> Option<String> {
        self.end.clone()?.err()
    }
}

#[cfg(test)]
mod tests;
