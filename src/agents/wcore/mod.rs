//! wayland-core engines: their requests and our replies. Pure; `cli::host` moves the lines.
//!
//! Every line of the engine is passed on to our own host unchanged, in addition to what is done
//! here.
//!
//! INVARIANT: every request has at most one answer: the daemon's, or that of the person at our own
//! host, whichever comes first; the other is cancelled or dropped.

mod answer;
mod call;
mod session;
#[cfg(test)]
mod tests;

pub use call::{AGENT, EngineContext};

use super::hosted::{Forward, Step};
use answer::OpenRequest;
use countersign_client::Decided;
use countersign_domain::{call::Call, wire::CancelReason};
use countersign_profiles::wcore::{ModeChangeSource, SessionMode};
use countersign_wcore::wire::{
    AnswerRoute, EngineEvent, HostCommand, Mistake, ResumeToken, Suspension, ToolRequest,
};
use serde_json::Value;
use std::collections::HashMap;

/// The reason of denials after our own host has closed its end.
pub const HOST_GONE: &str = "the host closed its input while this approval was pending";

/// The session of one engine.
#[derive(Debug)]
pub struct EngineSession {
    around: EngineContext,
    rights: LaunchOptions,
    open: HashMap<String, OpenRequest>,
    /// The number of requests so far. Each has its own key, even if the engine repeats an id.
    count: u64,
    host_gone: bool,
}

/// The options given at launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchOptions {
    /// The authority of our own host when it changes the mode.
    pub modes: ModeChangeSource,
    /// Reports scopes to the engine as its own hosts do.
    pub compat: bool,
    /// The session was named at launch; otherwise the engine names it.
    pub named: bool,
}

impl EngineSession {
    /// A session that has not started.
    #[must_use]
    pub fn new(around: EngineContext, rights: LaunchOptions) -> Self {
        Self { around, rights, open: HashMap::new(), count: 0, host_gone: false }
    }

    /// The session's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.around.session
    }

    /// Handles a line of the engine.
    pub fn engine_line(&mut self, line: &str) -> Vec<Step> {
        let event = match EngineEvent::read(line) {
            Ok(event) => event,
            Err((why, call)) => return unreadable(&why, call),
        };
        match event {
            EngineEvent::Ready { session_id, capabilities } => self.ready(session_id, capabilities),
            EngineEvent::ToolRequest(request) => self.requested(request),
            EngineEvent::ApprovalRequired(wanted) => match wanted.answering() {
                // The `tool_request` of the same call is the ask.
                AnswerRoute::ByCall => Vec::new(),
                AnswerRoute::ByToken(token) => self.suspended(wanted, token),
            },
            EngineEvent::Suspend { reason, resume_token } if !resume_token.reveal().is_empty() => {
                self.suspended(Suspension::bare(reason, resume_token.clone()), resume_token)
            }
            // The call runs, so somebody at our own host approved it.
            EngineEvent::ToolRunning { call_id } | EngineEvent::ToolResult { call_id } => {
                self.settled(&call_id, CancelReason::AnsweredElsewhere)
            }
            EngineEvent::ToolCancelled { call_id } => self.settled(&call_id, CancelReason::Aborted),
            EngineEvent::ApprovalResume { resume_token, .. } => {
                self.resumed(&resume_token, CancelReason::AnsweredElsewhere)
            }
            EngineEvent::CallAnnounced(_) | EngineEvent::Suspend { .. } | EngineEvent::Other => {
                Vec::new()
            }
        }
    }

    /// Handles a line of our own host.
    pub fn host_line(&mut self, line: &str) -> (Forward, Vec<Step>) {
        let refused = |why: String| (Forward::Stays, vec![Step::Log(why)]);
        match HostCommand::read(line) {
            Ok(
                HostCommand::ToolApprove { call_id, .. } | HostCommand::ToolDeny { call_id, .. },
            ) => (Forward::On, self.settled(&call_id, CancelReason::AnsweredElsewhere)),
            Ok(HostCommand::ApprovalResume { resume_token, .. }) => {
                (Forward::On, self.resumed(&resume_token, CancelReason::AnsweredElsewhere))
            }
            // SECURITY: an engine in mode `force` does not ask, and a call without an ask is seen
            // by no guardrail.
            Ok(HostCommand::SetMode { mode })
                if mode != SessionMode::Default && self.rights.modes == ModeChangeSource::Wire =>
            {
                refused(format!(
                    "the mode {mode} was not passed on; say --allow-set-mode at the start to let \
                     this host loosen its engine"
                ))
            }
            // Messages, and commands that we do not know, are for the engine.
            Ok(HostCommand::SetMode { .. } | HostCommand::Ping) | Err(Mistake::Other(_)) => {
                (Forward::On, Vec::new())
            }
            // A line that looks like an approval and cannot be read is dropped: the engine might
            // read more into it than we do.
            Err(Mistake::Malformed(why)) => {
                refused(format!("a line of the host was not passed on: {why}"))
            }
        }
    }

    /// Handles the daemon's decision, or the error why there is none.
    pub fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        // Without an entry it was answered at our own host; the later decision is dropped.
        let Some(open) = self.open.remove(key) else { return Vec::new() };
        answer::commands(&open, decided, self.rights.compat)
            .iter()
            .map(|line| Step::Send(line.clone()))
            .collect()
    }

    /// Handles the end of our own host: nobody sees the engine's work any more.
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

    /// Handles the end of the engine: its requests have no one to answer to.
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

    fn requested(&mut self, request: ToolRequest) -> Vec<Step> {
        // The engine has given up the earlier request with this id; a press on its card must not
        // answer the new one.
        let mut todo = self.settled(&request.call_id, CancelReason::Aborted);
        let call = self.around.call(&request);
        todo.extend(self.ask(OpenRequest::Call(Box::new(request)), call));
        todo
    }

    fn suspended(&mut self, wanted: Suspension, token: ResumeToken) -> Vec<Step> {
        let known = |open: &OpenRequest| match open {
            OpenRequest::Suspended(_, known) => *known == token,
            _ => false,
        };
        // `suspend` and `approval_required` announce the same request, in either order.
        if self.open.values().any(known) {
            return Vec::new();
        }
        let call = self.around.question(&wanted);
        self.ask(OpenRequest::Suspended(wanted, token), call)
    }

    fn ask(&mut self, open: OpenRequest, call: Result<Call, String>) -> Vec<Step> {
        let call = match call {
            // The engine may go on asking until it has read the end of its input.
            _ if self.host_gone => return vec![Step::Send(answer::denial(&open, HOST_GONE))],
            // FAIL-CLOSED: a request that cannot be shown is denied instead of left waiting.
            Err(why) => return vec![Step::Send(answer::denial(&open, &why)), Step::Log(why)],
            Ok(call) => call,
        };
        self.count += 1;
        let key = format!("{}-{}", self.around.run, self.count);
        self.open.insert(key.clone(), open);
        vec![Step::Submit { call: Box::new(Call { key: Some(key.clone()), ..call }), key }]
    }

    fn settled(&mut self, call_id: &str, why: CancelReason) -> Vec<Step> {
        self.cancel_where(
            |open| matches!(open, OpenRequest::Call(known) if known.call_id == call_id),
            why,
        )
    }

    fn resumed(&mut self, token: &ResumeToken, why: CancelReason) -> Vec<Step> {
        self.cancel_where(
            |open| matches!(open, OpenRequest::Suspended(_, known) if known == token),
            why,
        )
    }

    fn cancel_where(
        &mut self,
        which: impl Fn(&OpenRequest) -> bool,
        why: CancelReason,
    ) -> Vec<Step> {
        let taken = self.open.extract_if(|_, open| which(open));
        taken.map(|(key, _)| Step::Cancel { key, why }).collect()
    }
}

/// Denies an unreadable request if its call id can be read.
fn unreadable(why: &str, call: Option<String>) -> Vec<Step> {
    let note = Step::Log(format!("a line of the engine cannot be read: {why}"));
    // Only a `tool_request` waits for a `tool_deny`. The error starts with the type of the line.
    let is_request = why.starts_with("`tool_request`");
    let deny = call.filter(|_| is_request).map(|call_id| {
        let reason = format!("countersign cannot read this request: {why}");
        Step::Send(HostCommand::ToolDeny { call_id, reason }.line())
    });
    deny.into_iter().chain([note]).collect()
}
