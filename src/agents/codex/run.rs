//! Codex without a terminal: one prompt for an app-server of our own, on its stdin and stdout.
//! Nobody else is there for its requests, so each gets a reply.
//!
//! INVARIANT: every request has at most one reply, none of them an error, and one that Codex
//! resolved has none.

use super::{
    frame::{self, CodexFrame, CodexThread},
    odd::{OddRequest, odd},
    outage::CodexOutage,
    request::{NAME, stops},
    run_requests::{CodexAround, RunRequests},
};
use crate::{
    hook_call::message,
    hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step},
};
use countersign_client::Decided;
use countersign_domain::wire::CancelReason;
use std::time::Duration;

/// Ticks for Codex to end after its turn.
const FAREWELL: u32 = 3;

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
    output: CodexOutput,
    requests: RunRequests,
    outage: CodexOutage,
    /// The end of the turn, and the reason where it is a bad one.
    end: Option<Result<(), String>>,
    /// The ticks since the end.
    ended_for: u32,
}

impl CodexRun {
    /// A run that has not started.
    #[must_use]
    pub fn new(prompt: String, around: CodexAround, output: CodexOutput) -> Self {
        let (requests, outage) =
            (RunRequests::new(around), CodexOutage::new(Duration::from_mins(2)));
        Self { prompt, output, requests, outage, end: None, ended_for: 0 }
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
        let start = frame::start(self.requests.around.cwd.as_deref());
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
            CodexFrame::Request(request) => {
                let handled = self.requests.requested(&request);
                self.handled(handled)
            }
            CodexFrame::Resolved { thread, id } => self
                .requests
                .take_back(|open| open.has(&thread, &id), CancelReason::AnsweredElsewhere),
            CodexFrame::Closed { thread } => {
                self.requests.take_back(|open| open.thread == thread, CancelReason::SessionEnded)
            }
            CodexFrame::Said { thread, text } if self.is_main(&thread) => match self.output {
                CodexOutput::Messages => vec![Step::Say(text)],
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

    fn unreadable(&mut self, odd: OddRequest) -> Vec<Step> {
        let handled = self.requests.unreadable(odd);
        self.handled(handled)
    }

    fn handled(&mut self, handled: Result<Vec<Step>, String>) -> Vec<Step> {
        handled.unwrap_or_else(|why| {
            self.end.get_or_insert(Err(why));
            Vec::new()
        })
    }

    fn is_main(&self, thread: &str) -> bool {
        self.requests.main.as_deref() == Some(thread)
    }

    /// Takes in what is known of a thread; the first one gets the prompt.
    fn thread(&mut self, told: CodexThread) -> Vec<Step> {
        let mut steps = Vec::new();
        for (item, changes) in told.changes {
            steps.extend(self.requests.changed(&told.id, &item, &changes));
            self.requests.changes.note(told.id.clone(), item, changes);
        }
        let is_ours = self.requests.main.is_none() && told.cwd.is_some();
        if is_ours {
            self.requests.around.cwd = told.cwd;
            steps.push(Step::Send(frame::prompt(&told.id, &self.prompt).to_string()));
            self.requests.main = Some(told.id);
        }
        steps
    }
}

impl HostedSession for CodexRun {
    fn agent(&self) -> &str {
        NAME
    }

    fn name(&self) -> &str {
        self.requests.main.as_deref().unwrap_or_default()
    }

    fn program(&self) -> &'static str {
        "Codex"
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        let odd = odd(line);
        let steps = match std::str::from_utf8(line) {
            Ok(line) if odd.is_empty() => self.received(line),
            _ => odd.into_iter().flat_map(|odd| self.unreadable(odd)).collect(),
        };
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
        let Some(open) = self.requests.take(key) else { return Vec::new() };
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
        self.ended_for += u32::from(self.end.is_some());
        if self.requests.waiting() == 0
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
        self.requests.take_back(|_| true, why)
    }

    fn ends(&self) -> SessionEnd {
        match self.requests.main {
            Some(_) => SessionEnd::WithProgram,
            None => SessionEnd::Elsewhere,
        }
    }

    fn input(&self) -> EngineInput {
        match self.end {
            // It may stay, whatever it is told: nobody is there any more for what it writes.
            Some(Err(_)) => EngineInput::Abandoned,
            Some(Ok(())) if self.ended_for > FAREWELL => EngineInput::Abandoned,
            Some(Ok(())) => EngineInput::Over,
            None => EngineInput::Open,
        }
    }

    fn failure(&self) -> Option<String> {
        self.end.clone()?.err()
    }
}

#[cfg(test)]
mod tests;
