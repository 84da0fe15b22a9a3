//! A session of a ConnectOnion agent as a value, for the recorded sequences: what it remembers, its
//! profile, and whether a batch was stopped. It decides with the profile; the daemon's own sessions
//! are tested in `tests/e2e/connectonion`.

use countersign_policy::{Call, Guardrail, Verdict};
use countersign_profiles::connectonion::{
    ConnectOnion, FullAccessTurns, Permission, PermissionMode, Permissions, PromptAnswer,
    PromptScope, Requester,
};
use countersign_profiles::{CallEnd, EvaluationContext, Grants, OnDeny, System};

pub struct AgentSession {
    host: ConnectOnion,
    compat: bool,
    permissions: Permissions,
    mode: Option<PermissionMode>,
    requester: Requester,
    reachable: bool,
    stopped: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    Run,
    Prompt,
    /// With the text for the model.
    Refused(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum AnswerOutcome {
    Run,
    /// With the text for the model.
    Refused(String),
    /// Neither the call nor the rest of the turn runs.
    Interrupted,
}

impl AgentSession {
    pub fn new(host: ConnectOnion, requester: Requester, reachable: bool, compat: bool) -> Self {
        Self {
            host,
            compat,
            permissions: Permissions::default(),
            mode: None,
            requester,
            reachable,
            stopped: None,
        }
    }

    pub fn check(&self, call: &Call) -> Result<CheckOutcome, String> {
        let told = |end: &CallEnd<'_>| self.host.text_for_model(call, end).unwrap_or_default();
        let rest = || {
            CheckOutcome::Refused(told(&CallEnd::BatchStopped { tool: "another", reason: None }))
        };
        // ConnectOnion lets permitted calls of a stopped batch run.
        if self.stopped.is_some() && !self.compat {
            return Ok(rest());
        }
        let mut asked = call.clone();
        asked.own.requester = match self.requester {
            Requester::Local => None,
            Requester::Admin => Some("admin".to_owned()),
            Requester::Contact => Some("contact".to_owned()),
            Requester::Stranger => Some("stranger".to_owned()),
        };
        let mode = self.mode.map(|mode| mode.to_string());
        let tools = self.permissions.iter().map(|one| one.key.text().to_owned()).collect();
        let context = EvaluationContext {
            mode: mode.as_deref(),
            grants: &Grants { tools, ..Grants::default() },
            agent_rules: None,
            guardrail: &Guardrail::default(),
            reachable: self.reachable,
            now_ms: 0,
        };
        let decision = self.host.decide(&asked, &context)?;
        Ok(match decision.verdict {
            Verdict::Allow => CheckOutcome::Run,
            _ if self.stopped.is_some() => rest(),
            Verdict::Ask => CheckOutcome::Prompt,
            Verdict::Deny => CheckOutcome::Refused(told(&CallEnd::Forbidden {
                reason: &decision.reason,
                rule: decision.rule.as_deref(),
            })),
        })
    }

    pub fn answered(&mut self, call: &Call, answer: PromptAnswer) -> AnswerOutcome {
        let end = match &answer {
            PromptAnswer::Rejected { then, feedback } => {
                CallEnd::Denied { by: "user", reason: feedback.as_deref(), then: *then }
            }
            _ => CallEnd::Cancelled { reason: "closed" },
        };
        let told = self.host.text_for_model(call, &end).unwrap_or_default();
        match answer {
            PromptAnswer::Approved(scope) => {
                if scope == PromptScope::Session {
                    self.permissions.put(Permission::session(&call.tool));
                }
                AnswerOutcome::Run
            }
            PromptAnswer::Rejected { then, feedback } => {
                if then == OnDeny::Stop {
                    let why = || format!("User rejected tool '{}'.", call.tool);
                    self.stopped = Some(feedback.unwrap_or_else(why));
                }
                AnswerOutcome::Refused(told)
            }
            // ConnectOnion does not stop the turn here, so later tools may still run.
            PromptAnswer::Closed => {
                self.reachable &= self.compat;
                AnswerOutcome::Refused(told)
            }
            PromptAnswer::Interrupted => {
                self.stopped = Some("Interrupted by user".to_owned());
                AnswerOutcome::Interrupted
            }
        }
    }

    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    pub fn turn_begins(&mut self) {
        self.stopped = None;
    }

    /// Every turn counts, whether or not a call used the authority.
    pub fn turn_ends(&mut self) {
        let mut mode = self.mode();
        if let PermissionMode::FullAccess(Some(turns)) = &mut mode {
            turns.used += 1;
        }
        self.mode = Some(mode);
    }

    /// What a person permitted for the session.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    pub fn mode(&self) -> PermissionMode {
        self.mode.unwrap_or_else(|| self.host.mode())
    }

    /// Takes the profile that a stored session names: an unknown one is the careful profile.
    pub fn restore(&mut self, word: &str) {
        use PermissionMode::{FullAccess, ReadOnly, Workspace};
        self.mode = Some(match PermissionMode::parse(word) {
            Ok(mode @ (ReadOnly | Workspace | FullAccess(_))) => mode,
            _ => ReadOnly,
        });
    }

    /// Handles a client's request for another profile; returns the profile to report back.
    pub fn wants(&mut self, word: &str, turns: Option<u32>) -> Option<PermissionMode> {
        use PermissionMode::{FullAccess, Plan, ReadOnly, RemoteExec, Workspace};
        let old = self.mode();
        let operator = self.requester.is_operator();
        let (wanted, always_told) = match PermissionMode::parse(word).ok()? {
            FullAccess(_) => match turns.filter(|turns| operator && *turns > 0) {
                Some(turns) => {
                    (FullAccess(Some(FullAccessTurns { turns, used: 0, skip: true })), true)
                }
                None => (ReadOnly, true),
            },
            Plan => (ReadOnly, true),
            Workspace if !operator => (ReadOnly, true),
            mode @ (ReadOnly | Workspace) => (mode, false),
            RemoteExec => return None,
        };
        self.mode = Some(wanted);
        (always_told || wanted != old).then_some(wanted)
    }
}
