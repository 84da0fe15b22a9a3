//! A session of a ConnectOnion agent: its grants and their lifetime, its profile, and whether a
//! batch was stopped.

use std::fmt;
use std::sync::Arc;

use countersign_policy::{call::Call, paths::Directories, verdict::Verdict};
use serde::{Deserialize, Serialize};

use crate::connectonion::answer::{self, PromptAnswer, PromptScope};
use crate::connectonion::permission::{Permission, Permissions};
use crate::connectonion::permit::{self, PermitContext, PermitResult};
use crate::connectonion::workspace::{POLICY, WorkspaceDecision};
use crate::connectonion::{ConnectOnion, scan_of};
use crate::{CallEnd, OnDeny};

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
            answer::told(call, &CallEnd::Forbidden { reason, rule }).unwrap_or_default()
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
        permit::permit(call, scan_of(call).as_ref(), dirs, &context)
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
                let told = answer::told(call, &CallEnd::Denied { by: "user", reason, then });
                if then == OnDeny::Stop {
                    let why = || format!("User rejected tool '{}'.", call.tool);
                    self.stopped = Some(feedback.unwrap_or_else(why));
                }
                AnswerOutcome::Refused(told.unwrap_or_default())
            }
            // ConnectOnion does not stop the turn here, so later tools may still run.
            PromptAnswer::Closed => {
                let told = answer::told(call, &CallEnd::Cancelled { reason: "closed" });
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

// Permission profiles, the modes of earlier versions, and who may choose them.

/// The permission profile of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// Everything that is not permitted asks.
    ReadOnly,
    /// A fixed policy allows reads, edits of the workspace and focused tests; everything else asks.
    Workspace,
    /// Nothing asks, for a number of turns. The name alone grants nothing.
    FullAccess(Option<FullAccessTurns>),
    /// Calls that no model made (`remote.call`): permitted ones run, others are denied.
    RemoteExec,
    /// From earlier versions: the agent makes a plan and changes nothing.
    Plan,
}

/// The turns of full access that a session has, and how many are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullAccessTurns {
    /// The number granted.
    pub turns: u32,
    /// The number used.
    pub used: u32,
    /// The session's own flag, which must accompany the grant.
    pub skip: bool,
}

impl FullAccessTurns {
    /// Returns true while the grant is valid.
    #[must_use]
    pub fn holds(self) -> bool {
        // Without the flag, or with all turns used, ConnectOnion ignores the name.
        self.skip && self.used < self.turns
    }
}

impl PermissionMode {
    /// Reads a profile's name, including its earlier and later names. `:danger-full-access 1/5` has
    /// used one of five turns.
    ///
    /// # Errors
    /// A sentence that names the modes.
    pub fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            ":read-only" | "safe" | "default" | "read-only" => Self::ReadOnly,
            ":workspace" | "accept_edits" | "auto_approve" | "auto" => Self::Workspace,
            ":danger-full-access" | "ulw" | "full_access" | "full-access" => Self::FullAccess(None),
            "remote-exec" => Self::RemoteExec,
            "plan" => Self::Plan,
            _ => Self::FullAccess(Some(turns(word).ok_or_else(|| {
                format!(
                    "there is no mode {word:?}; the modes are :read-only, :workspace, \
                     :danger-full-access with its turns (`:danger-full-access 0/5`) and remote-exec"
                )
            })?)),
        })
    }

    /// Reads the name as a restored session does: an unknown one is the careful profile.
    #[must_use]
    pub fn restored(word: &str) -> Self {
        match Self::parse(word) {
            Ok(mode @ (Self::ReadOnly | Self::Workspace | Self::FullAccess(_))) => mode,
            _ => Self::ReadOnly,
        }
    }
}

fn turns(word: &str) -> Option<FullAccessTurns> {
    let (name, spent) = word.split_once(' ')?;
    let (used, turns) = spent.split_once('/')?;
    // Only full access has a number of turns.
    if !matches!(PermissionMode::parse(name), Ok(PermissionMode::FullAccess(None))) {
        return None;
    }
    Some(FullAccessTurns { turns: turns.parse().ok()?, used: used.parse().ok()?, skip: true })
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => f.write_str(":read-only"),
            Self::Workspace => f.write_str(":workspace"),
            Self::FullAccess(None) => f.write_str(":danger-full-access"),
            Self::FullAccess(Some(FullAccessTurns { turns, used, .. })) => {
                write!(f, ":danger-full-access {used}/{turns}")
            }
            Self::RemoteExec => f.write_str("remote-exec"),
            Self::Plan => f.write_str("plan"),
        }
    }
}

/// The person that the agent works for, as its host classified the signed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// Nobody is recorded: the agent runs on its owner's own machine.
    Local,
    /// The owner.
    Admin,
    /// A contact with an accepted invitation: may be asked, may not raise the profile.
    Contact,
    /// Anyone else: is not even asked.
    Stranger,
}

impl Requester {
    /// Reads a level; every unknown one is a stranger's.
    #[must_use]
    pub fn of(level: Option<&str>) -> Self {
        // The host derives the level from the signed address on each turn. A copy that the client
        // keeps does not count.
        match level {
            None => Self::Local,
            Some("admin") => Self::Admin,
            Some("contact" | "whitelist") => Self::Contact,
            Some(_) => Self::Stranger,
        }
    }

    /// Returns true when profiles that ask less are available.
    #[must_use]
    pub fn is_operator(self) -> bool {
        matches!(self, Self::Local | Self::Admin)
    }
}
