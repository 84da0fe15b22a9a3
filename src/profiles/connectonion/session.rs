//! A session of a ConnectOnion agent: its grants and their lifetime, its profile, and whether a
//! batch was stopped.

use std::sync::Arc;

use super::answer::{PromptAnswer, PromptScope};
use super::mode::{FullAccessTurns, PermissionMode, Requester};
use super::permission::{Permission, Permissions};
use super::permit_context::{PermitContext, PermitResult};
use super::workspace::{POLICY, WorkspaceDecision};
use super::{ConnectOnion, scan_of, told};
use crate::{CallEnd, OnDeny};
use countersign_policy::call::Call;
use countersign_policy::paths::Directories;
use countersign_policy::verdict::Verdict;

/// A session.
#[derive(Clone, Debug)]
pub struct AgentSession {
    host: Arc<ConnectOnion>,
    permissions: Permissions,
    mode: PermissionMode,
    requester: Requester,
    reachable: bool,
    /// The reason why the turn was stopped.
    stopped: Option<String>,
}

/// The result of checking a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The call runs.
    Run,
    /// A person is asked; carries the policy's decision.
    Prompt(Option<WorkspaceDecision>),
    /// The call does not run; carries the text for the model.
    Refused(String),
}

/// The effect of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    /// The call runs.
    Run,
    /// The call does not run; carries the text for the model.
    Refused(String),
    /// Neither the call nor the rest of the turn runs.
    Interrupted,
}

impl AgentSession {
    /// Creates a session under a `host.yaml` for a requester.
    #[must_use]
    pub fn new(host: Arc<ConnectOnion>, requester: Requester, reachable: bool) -> Self {
        Self {
            permissions: host.host.permissions.clone(),
            mode: host.host.mode,
            host,
            requester,
            reachable,
            stopped: None,
        }
    }

    /// Checks a call now.
    ///
    /// # Errors
    /// The same as [`ConnectOnion`]'s.
    pub fn check(&self, call: &Call) -> Result<CheckOutcome, String> {
        let found = self.found(call)?;
        let forbidden = |reason: &str, rule: Option<&str>| {
            told::told(call, &CallEnd::Forbidden { reason, rule }).unwrap_or_default()
        };
        Ok(match found.verdict {
            Verdict::Allow => CheckOutcome::Run,
            Verdict::Ask => CheckOutcome::Prompt(found.policy),
            Verdict::Deny if found.policy.is_some() => {
                CheckOutcome::Refused(forbidden(&found.reason, Some(POLICY)))
            }
            Verdict::Deny => CheckOutcome::Refused(forbidden(&found.reason, None)),
        })
    }

    fn found(&self, call: &Call) -> Result<PermitResult, String> {
        let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
        let context = PermitContext {
            permissions: &self.permissions,
            mode: self.mode,
            era: self.host.host.era,
            requester: self.requester,
            reachable: self.reachable,
            stopped: self.stopped.is_some(),
            compat: self.host.compat,
        };
        super::permit::permit(call, scan_of(call).as_ref(), dirs, &context)
    }

    /// Applies the answer to a prompt.
    pub fn answered(&mut self, call: &Call, answer: PromptAnswer) -> AnswerOutcome {
        match answer {
            PromptAnswer::Approved(scope) => {
                if scope == PromptScope::Session {
                    // The whole tool, as in ConnectOnion: approving `npm install` for the session
                    // approves every bash command in it.
                    self.permissions.put(Permission::session(&call.tool));
                }
                AnswerOutcome::Run
            }
            PromptAnswer::Rejected { then, feedback } => {
                let reason = feedback.as_deref();
                let told = told::told(call, &CallEnd::Denied { by: "user", reason, then });
                if then == OnDeny::Stop {
                    let why = || format!("User rejected tool '{}'.", call.tool);
                    self.stopped = Some(feedback.unwrap_or_else(why));
                }
                AnswerOutcome::Refused(told.unwrap_or_default())
            }
            // ConnectOnion does not stop the turn here, so later tools may still run.
            PromptAnswer::Closed => {
                let told = told::told(call, &CallEnd::Cancelled { reason: "closed" });
                // After the connection is lost, later calls must not wait for someone who cannot
                // answer.
                if !self.host.compat {
                    self.reachable = false;
                }
                AnswerOutcome::Refused(told.unwrap_or_default())
            }
            PromptAnswer::Interrupted => {
                self.stopped = Some("Interrupted by user".to_owned());
                AnswerOutcome::Interrupted
            }
        }
    }

    /// Returns why the turn was stopped, if it was. The model gets no other turn until a person
    /// writes.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// Starts a new turn after a person has written.
    pub fn turn_begins(&mut self) {
        self.stopped = None;
    }

    /// Ends the turn.
    pub fn turn_ends(&mut self) {
        // Every turn counts, whether or not a call used the authority.
        if let PermissionMode::FullAccess(Some(turns)) = &mut self.mode {
            turns.used = turns.used.saturating_add(1);
        }
    }

    /// Returns everything that is permitted now.
    #[must_use]
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// Returns the profile.
    #[must_use]
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// Takes the profile that a stored session names.
    pub fn restore(&mut self, word: &str) {
        self.mode = PermissionMode::restored(word);
    }

    /// Handles a client's request for another profile. Returns the profile to report back; `None`
    /// when nothing changed or the word is unknown.
    pub fn wants(&mut self, word: &str, turns: Option<u32>) -> Option<PermissionMode> {
        let old = self.mode;
        let (wanted, always_told) = match PermissionMode::parse(word) {
            Ok(PermissionMode::Plan) => (PermissionMode::ReadOnly, true),
            // Contacts may answer asks, but only the operator may raise the profile.
            Ok(PermissionMode::FullAccess(_)) if !self.requester.is_operator() => {
                (PermissionMode::ReadOnly, true)
            }
            Ok(PermissionMode::FullAccess(_)) => match turns.filter(|turns| *turns > 0) {
                Some(turns) => (
                    PermissionMode::FullAccess(Some(FullAccessTurns {
                        turns,
                        used: 0,
                        skip: true,
                    })),
                    true,
                ),
                None => (PermissionMode::ReadOnly, true),
            },
            Ok(PermissionMode::Workspace) if !self.requester.is_operator() => {
                (PermissionMode::ReadOnly, true)
            }
            Ok(mode @ (PermissionMode::ReadOnly | PermissionMode::Workspace)) => (mode, false),
            Ok(PermissionMode::RemoteExec) | Err(_) => return None,
        };
        self.mode = wanted;
        (always_told || wanted != old).then_some(wanted)
    }
}
