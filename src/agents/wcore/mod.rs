//! wayland-core engines: their requests and our replies. Pure; `cli::host` moves the lines.
//!
//! A line of the engine's is passed on to our own host unchanged, whatever is made of it here.
//!
//! INVARIANT: every request has at most one answer: the daemon's, or that of whoever sits at our
//! own host, whichever comes first; the other one is taken back or dropped.

mod answer;
mod call;
#[cfg(test)]
mod tests;

pub use call::{AGENT, EngineContext};

use crate::profiles::wcore::{ModeChangeSource, SessionMode};
use crate::{
    client::Decided,
    gate::call::Call,
    protocol::CancelReason,
    wcore::wire::{Answering, Command, Event, Mistake, Request, ResumeToken, Suspension},
};
use answer::Open;
use serde_json::Value;
use std::collections::HashMap;

/// Why requests are denied when our own host has closed its end.
pub const HOST_GONE: &str = "the host closed its input while this approval was pending";

/// One engine's conversation.
#[derive(Debug)]
pub struct EngineSession {
    around: EngineContext,
    rights: LaunchOptions,
    open: HashMap<String, Open>,
    /// How many requests there have been; each has a key of its own, whatever its engine calls it.
    count: u64,
    host_gone: bool,
}

/// What was said at launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchOptions {
    /// Who our own host counts as when it changes the mode.
    pub modes: ModeChangeSource,
    /// Whether the engine hears what an approval covers, as its own hosts would tell it.
    pub compat: bool,
    /// Whether the conversation's name is given; else it is the engine's own.
    pub named: bool,
}

/// What is to be done next, in order.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Send this line to the engine.
    Send(String),
    /// Submit this call.
    Submit {
        /// Its key.
        key: String,
        /// The call.
        call: Box<Call>,
    },
    /// Cancel the call of this key.
    Cancel {
        /// The key.
        key: String,
        /// Why.
        why: CancelReason,
    },
    /// Log this for the person who runs us.
    Log(String),
}

/// Whether a line of our own host reaches the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Forward {
    /// Unchanged.
    On,
    /// It does not.
    Stays,
}

impl EngineSession {
    /// A conversation that has not begun.
    #[must_use]
    pub fn new(around: EngineContext, rights: LaunchOptions) -> Self {
        Self { around, rights, open: HashMap::new(), count: 0, host_gone: false }
    }

    /// The conversation's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.around.session
    }

    /// Receives a line of the engine.
    pub fn engine_line(&mut self, line: &str) -> Vec<Step> {
        let event = match Event::read(line) {
            Ok(event) => event,
            Err((why, call)) => return unreadable(&why, call),
        };
        match event {
            Event::Ready { session_id, capabilities } => self.ready(session_id, capabilities),
            Event::ToolRequest(request) => self.requested(request),
            Event::ApprovalRequired(wanted) => match wanted.answering() {
                Answering::ByCall => Vec::new(),
                Answering::ByToken(token) => self.suspended(wanted, token),
            },
            Event::Suspend { reason, resume_token } if !resume_token.reveal().is_empty() => {
                self.suspended(Suspension::bare(reason, resume_token.clone()), resume_token)
            }
            Event::ToolRunning { call_id } | Event::ToolResult { call_id } => {
                self.settled(&call_id, CancelReason::AnsweredElsewhere)
            }
            Event::ToolCancelled { call_id } => self.settled(&call_id, CancelReason::Aborted),
            Event::ApprovalResume { resume_token, .. } => {
                self.resumed(&resume_token, CancelReason::AnsweredElsewhere)
            }
            Event::CallAnnounced(_) | Event::Suspend { .. } | Event::Other => Vec::new(),
        }
    }

    /// Receives a line of our own host.
    pub fn host_line(&mut self, line: &str) -> (Forward, Vec<Step>) {
        let refused = |why: String| (Forward::Stays, vec![Step::Log(why)]);
        match Command::read(line) {
            Ok(Command::ToolApprove { call_id, .. } | Command::ToolDeny { call_id, .. }) => {
                (Forward::On, self.settled(&call_id, CancelReason::AnsweredElsewhere))
            }
            Ok(Command::ApprovalResume { resume_token, .. }) => {
                (Forward::On, self.resumed(&resume_token, CancelReason::AnsweredElsewhere))
            }
            // SECURITY: an engine in force asks about nothing, and what it does not ask about no
            // guardrail sees.
            Ok(Command::SetMode { mode })
                if mode != SessionMode::Default && self.rights.modes == ModeChangeSource::Wire =>
            {
                refused(format!(
                    "the mode {mode} was not passed on; say --allow-set-mode at the start to let \
                     this host loosen its engine"
                ))
            }
            Ok(Command::SetMode { .. } | Command::Ping) | Err(Mistake::Other(_)) => {
                (Forward::On, Vec::new())
            }
            Err(Mistake::Malformed(why)) => {
                refused(format!("a line of the host was not passed on: {why}"))
            }
        }
    }

    /// The daemon has an answer, or could not be asked.
    pub fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        let Some(open) = self.open.remove(key) else { return Vec::new() };
        answer::commands(&open, decided, self.rights.compat)
            .iter()
            .map(|line| Step::Send(line.clone()))
            .collect()
    }

    /// Our own host closed its end: nobody is there to see the work.
    pub fn host_ended(&mut self) -> Vec<Step> {
        self.host_gone = true;
        let gone = self.open.drain().flat_map(|(key, open)| {
            [
                Step::Send(answer::denial(&open, HOST_GONE)),
                Step::Cancel { key, why: CancelReason::Aborted },
            ]
        });
        gone.collect()
    }

    /// The engine is gone, and with it whoever waited.
    pub fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.open.drain().map(|(key, _)| Step::Cancel { key, why }).collect()
    }

    fn ready(&mut self, session: Option<String>, capabilities: Value) -> Vec<Step> {
        if let Some(session) = session.filter(|name| !self.rights.named && !name.trim().is_empty())
        {
            self.around.session = session;
        }
        self.around.capabilities = capabilities;
        Vec::new()
    }

    fn requested(&mut self, request: Request) -> Vec<Step> {
        // The engine has given the earlier one up; a press on its card must not answer this one.
        let mut todo = self.settled(&request.call_id, CancelReason::Aborted);
        let call = self.around.call(&request);
        todo.extend(self.ask(Open::Call(Box::new(request)), call));
        todo
    }

    fn suspended(&mut self, wanted: Suspension, token: ResumeToken) -> Vec<Step> {
        let known = |open: &Open| matches!(open, Open::Suspended(_, known) if *known == token);
        if self.open.values().any(known) {
            return Vec::new();
        }
        let call = self.around.question(&wanted);
        self.ask(Open::Suspended(wanted, token), call)
    }

    fn ask(&mut self, open: Open, call: Result<Call, String>) -> Vec<Step> {
        let call = match call {
            _ if self.host_gone => return vec![Step::Send(answer::denial(&open, HOST_GONE))],
            // FAIL-CLOSED: what cannot be shown is denied, not left waiting.
            Err(why) => return vec![Step::Send(answer::denial(&open, &why)), Step::Log(why)],
            Ok(call) => call,
        };
        self.count += 1;
        let key = format!("{}-{}", self.around.run, self.count);
        self.open.insert(key.clone(), open);
        vec![Step::Submit { call: Box::new(Call { key: Some(key.clone()), ..call }), key }]
    }

    fn settled(&mut self, call_id: &str, why: CancelReason) -> Vec<Step> {
        self.cancel_where(|open| matches!(open, Open::Call(known) if known.call_id == call_id), why)
    }

    fn resumed(&mut self, token: &ResumeToken, why: CancelReason) -> Vec<Step> {
        self.cancel_where(|open| matches!(open, Open::Suspended(_, known) if known == token), why)
    }

    fn cancel_where(&mut self, which: impl Fn(&Open) -> bool, why: CancelReason) -> Vec<Step> {
        let taken = self.open.extract_if(|_, open| which(open));
        taken.map(|(key, _)| Step::Cancel { key, why }).collect()
    }
}

/// A request that cannot be read is denied, where it says which it is.
fn unreadable(why: &str, call: Option<String>) -> Vec<Step> {
    let note = Step::Log(format!("a line of the engine cannot be read: {why}"));
    let is_request = why.starts_with("`tool_request`");
    let deny = call.filter(|_| is_request).map(|call_id| {
        let reason = format!("countersign cannot read this request: {why}");
        Step::Send(Command::ToolDeny { call_id, reason }.line())
    });
    deny.into_iter().chain([note]).collect()
}
