//! molf's approval gate as a value, for the recorded lifecycles: calls ask, people reply, sessions and
//! workers end. It decides with the profile; the daemon's own gate is tested in `tests/e2e/molf.rs`.

use std::collections::BTreeMap;

use countersign_policy::{Call, Decision, Guardrail, Rule, Rules, Verdict};
use countersign_profiles::molf::{DEFAULT, approval_id};
use countersign_profiles::{CallEnd, EvaluationContext, Grants, OnDeny, Profile};
use serde::Serialize;
use serde_json::Value;

/// The gate of one molf server.
#[derive(Debug, Default)]
pub struct MolfGate {
    compat: bool,
    home: Option<String>,
    /// The text of every worker's `permissions.jsonc`.
    files: BTreeMap<String, String>,
    sessions: BTreeMap<String, SessionRules>,
    pending: Vec<PendingApproval>,
    events: Vec<ApprovalEvent>,
}

#[derive(Debug, Default)]
struct SessionRules {
    runtime: Vec<Rule>,
    agent: Option<Rules>,
}

impl MolfGate {
    /// Creates a gate without workers; `home` is what `~/` stands for.
    #[must_use]
    pub fn new(compat: bool, home: Option<&str>) -> Self {
        Self { compat, home: home.map(ToOwned::to_owned), ..Self::default() }
    }

    /// Sets the current text of a worker's file; it is read on every evaluation.
    pub fn set_file(&mut self, worker: &str, text: impl Into<String>) {
        self.files.insert(worker.to_owned(), text.into());
    }

    /// Returns the text of a worker's file: molf's defaults until another one is set.
    #[must_use]
    pub fn file(&self, worker: &str) -> &str {
        self.files.get(worker).map_or(DEFAULT, String::as_str)
    }

    /// Sets a subagent's own rules for its session; a deny among them is a veto.
    pub fn set_agent(&mut self, session: &str, rules: Rules) {
        self.sessions.entry(session.to_owned()).or_default().agent = Some(rules);
    }

    /// Decides a call. The first evaluation of a worker creates its file.
    ///
    /// # Errors
    /// As `System::decide`, and when the worker's file cannot be read.
    pub fn evaluate(
        &mut self,
        call: &Call,
        session: &str,
        worker: &str,
        now_ms: i64,
    ) -> Result<Decision, String> {
        self.files.entry(worker.to_owned()).or_insert_with(|| DEFAULT.to_owned());
        let none = SessionRules::default();
        self.rule(call, self.sessions.get(session).unwrap_or(&none), worker, now_ms)
    }

    fn rule(
        &self,
        call: &Call,
        session: &SessionRules,
        worker: &str,
        now_ms: i64,
    ) -> Result<Decision, String> {
        let (text, home) = (self.file(worker), self.home.as_deref());
        let system = Profile::Molf.open(Some(text), "permissions.jsonc", home, self.compat)?;
        let context = EvaluationContext {
            mode: None,
            grants: &Grants { rules: Rules::from_grants(&session.runtime), ..Grants::default() },
            agent_rules: session.agent.as_ref(),
            guardrail: &Guardrail::default(),
            reachable: true,
            now_ms,
        };
        countersign_profiles::decide(&*system, call, &context)
    }

    /// Makes a call wait for a person and returns its id; `decision` is the result of
    /// [`MolfGate::evaluate`].
    pub fn ask(
        &mut self,
        call: Call,
        session: &str,
        worker: &str,
        decision: &Decision,
        random: u32,
    ) -> String {
        let id = approval_id(session, random);
        self.events.push(required(&id, &call, session));
        self.pending.push(PendingApproval {
            id: id.clone(),
            call,
            session: session.to_owned(),
            worker: worker.to_owned(),
            always: decision.always.clone(),
        });
        id
    }

    /// Returns the events of what waits in a session, for clients that reconnect.
    #[must_use]
    pub fn replay(&self, session: &str) -> Vec<ApprovalEvent> {
        let here = self.pending.iter().filter(|pending| pending.session == session);
        here.map(|pending| required(&pending.id, &pending.call, session)).collect()
    }

    /// Returns everything that waits.
    #[must_use]
    pub fn pending(&self) -> &[PendingApproval] {
        &self.pending
    }

    /// Takes the events since the last call.
    pub fn events(&mut self) -> Vec<ApprovalEvent> {
        std::mem::take(&mut self.events)
    }

    /// Answers an approval. `session` is the session that the answer names: an approval of another
    /// one is not answered, except under compat, where only the id counts.
    pub fn reply(
        &mut self,
        id: &str,
        session: &str,
        reply: ApprovalReply<'_>,
        now_ms: i64,
    ) -> Replied {
        let owned = |pending: &PendingApproval| self.compat || pending.session == session;
        let Some(at) = self.pending.iter().position(|one| one.id == id && owned(one)) else {
            return Replied::default();
        };
        let pending = self.pending.remove(at);
        let mut ended = match reply {
            ApprovalReply::Reject(feedback) => {
                vec![self.reject(&pending, feedback, ApprovalResolution::Denied)]
            }
            ApprovalReply::Once | ApprovalReply::Always => {
                vec![self.end(&pending, ApprovalResolution::Approved, None)]
            }
        };
        let mut but = None;
        if reply == ApprovalReply::Always {
            but = self.remember(&pending, now_ms);
            ended.extend(self.cascade(&pending.session, now_ms));
        }
        Replied { ended, but }
    }

    /// Adds the patterns to the session and to the worker's file. Returns why that does not have
    /// the intended effect, if so.
    fn remember(&mut self, pending: &PendingApproval, now_ms: i64) -> Option<String> {
        let rules = &pending.always;
        let after = countersign_policy::file::append(self.file(&pending.worker), rules);
        match after {
            Ok(after) => self.set_file(&pending.worker, after),
            Err(error) => return Some(error.to_string()),
        }
        let session = self.sessions.entry(pending.session.clone()).or_default();
        session.runtime.extend(rules.iter().cloned());
        // Evaluated without the session's rules, so that only the file decides.
        let anew = SessionRules { runtime: Vec::new(), agent: session.agent.clone() };
        match self.rule(&pending.call, &anew, &pending.worker, now_ms) {
            Ok(decision) if decision.verdict == Verdict::Allow => None,
            Ok(decision) => Some(format!("the stored rule does not win: {}", decision.reason)),
            Err(error) => Some(error),
        }
    }

    /// Ends what else the session waits for and is now allowed. A call that cannot be decided keeps
    /// waiting.
    fn cascade(&mut self, session: &str, now_ms: i64) -> Vec<Ended> {
        let none = SessionRules::default();
        let rules = self.sessions.get(session).unwrap_or(&none);
        let allowed = |pending: &PendingApproval| {
            let decision = self.rule(&pending.call, rules, &pending.worker, now_ms);
            pending.session == session && decision.is_ok_and(|r| r.verdict == Verdict::Allow)
        };
        let (now, still): (Vec<_>, Vec<_>) = self.pending.iter().cloned().partition(allowed);
        self.pending = still;
        now.iter().map(|pending| self.end(pending, ApprovalResolution::Approved, None)).collect()
    }

    /// Takes an approval back, without a message for its waiter.
    pub fn cancel(&mut self, id: &str) -> Vec<Ended> {
        self.take(|pending| pending.id == id, None, ApprovalResolution::Cancelled)
    }

    /// Ends a session's turn: its approvals are cancelled, its grants stay.
    pub fn abort(&mut self, session: &str) -> Vec<Ended> {
        self.take(|pending| pending.session == session, None, ApprovalResolution::Cancelled)
    }

    /// Ends a session: its approvals are rejected, its own rules and its agent's are removed.
    pub fn clear_session(&mut self, session: &str) -> Vec<Ended> {
        self.sessions.remove(session);
        self.take(|pending| pending.session == session, Some(None), ApprovalResolution::Denied)
    }

    /// Ends the sessions of a worker that has disconnected.
    pub fn worker_gone(&mut self, worker: &str, sessions: &[&str]) -> Vec<Ended> {
        let waiting = self.pending.iter().filter(|pending| pending.worker == worker);
        let mut gone: Vec<String> = waiting.map(|pending| pending.session.clone()).collect();
        gone.extend(sessions.iter().map(|session| (*session).to_owned()));
        gone.iter().flat_map(|session| self.clear_session(session)).collect()
    }

    /// Ends everything.
    pub fn clear_all(&mut self) -> Vec<Ended> {
        self.sessions.clear();
        self.take(|_| true, Some(Some("Server shutting down")), ApprovalResolution::Cancelled)
    }

    /// Ends the approvals that fit; `rejected` carries the words for the model, if it gets any.
    fn take(
        &mut self,
        fits: impl Fn(&PendingApproval) -> bool,
        rejected: Option<Option<&str>>,
        outcome: ApprovalResolution,
    ) -> Vec<Ended> {
        let pending = std::mem::take(&mut self.pending);
        let (taken, left): (Vec<_>, Vec<_>) = pending.into_iter().partition(fits);
        self.pending = left;
        let mut end = |pending: &PendingApproval| match rejected {
            Some(words) => self.reject(pending, words, outcome),
            None => self.end(pending, outcome, None),
        };
        taken.iter().map(&mut end).collect()
    }

    fn reject(
        &mut self,
        pending: &PendingApproval,
        words: Option<&str>,
        outcome: ApprovalResolution,
    ) -> Ended {
        let end = CallEnd::Denied { by: "a person", reason: words, then: OnDeny::GoOn };
        let system = Profile::Molf.open(None, "permissions.jsonc", None, self.compat).unwrap();
        let told = system.text_for_model(&pending.call, &end);
        self.end(pending, outcome, told)
    }

    fn end(
        &mut self,
        pending: &PendingApproval,
        outcome: ApprovalResolution,
        message: Option<String>,
    ) -> Ended {
        self.events.push(ApprovalEvent::ToolApprovalResolved {
            approval_id: pending.id.clone(),
            outcome,
            session_id: pending.session.clone(),
        });
        Ended { id: pending.id.clone(), outcome, message }
    }
}

// Approvals that wait: what a person replies, and what became of them.

/// A call that waits for a person.
#[derive(Clone, Debug)]
pub struct PendingApproval {
    /// The id that clients know.
    pub id: String,
    /// The call.
    pub call: Call,
    /// The conversation.
    pub session: String,
    /// The worker that would run it.
    pub worker: String,
    /// What Always would store.
    pub(super) always: Vec<Rule>,
}

/// A person's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalReply<'a> {
    /// This call may run.
    Once,
    /// This call and every call that the offered patterns cover may run.
    Always,
    /// The call may not run; carries words for the model.
    Reject(Option<&'a str>),
}

/// An approval that has ended, for its waiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The id.
    pub id: String,
    /// The resolution.
    pub outcome: ApprovalResolution,
    /// The text for the model; `None` when the call runs or the turn is over.
    pub message: Option<String>,
}

/// The result of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Replied {
    /// The approvals that ended: the answered one first, then those that the new rules cover. Empty
    /// when the reply applied to nothing.
    pub ended: Vec<Ended>,
    /// The reason, if Always does not do what its button says.
    pub but: Option<String>,
}

/// An event for clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ApprovalEvent {
    /// A call waits for a person.
    ToolApprovalRequired {
        /// The id to answer with.
        approval_id: String,
        /// The tool.
        tool_name: String,
        /// The arguments as a JSON text.
        arguments: String,
        /// The conversation.
        session_id: String,
    },
    /// A call no longer waits.
    ToolApprovalResolved {
        /// The id.
        approval_id: String,
        /// The resolution.
        outcome: ApprovalResolution,
        /// The conversation.
        session_id: String,
    },
}

/// The way in which an approval ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalResolution {
    /// The call may run.
    Approved,
    /// The call may not run.
    Denied,
    /// Nobody waits for the call any more.
    Cancelled,
}

/// Returns the event that opens an approval, which clients get again when they reconnect.
fn required(id: &str, call: &Call, session: &str) -> ApprovalEvent {
    ApprovalEvent::ToolApprovalRequired {
        approval_id: id.to_owned(),
        tool_name: call.tool.clone(),
        arguments: match &call.args {
            Value::Null => "{}".to_owned(),
            args => args.to_string(),
        },
        session_id: session.to_owned(),
    }
}
