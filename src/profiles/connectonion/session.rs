//! A session of a ConnectOnion agent: what was granted in it and for how long, its profile, whether
//! a batch was stopped.

use std::sync::Arc;

use super::answer::{Answer, Scope};
use super::mode::{Mode, Requester, Turns};
use super::permission::{Expires, Permission, Permissions, Source};
use super::permit::{Found, Standing};
use super::workspace::{POLICY, WorkspaceDecision};
use super::{ConnectOnion, scan_of, told};
use crate::{CallEnd, OnDeny};
use countersign_policy::call::Call;
use countersign_policy::paths::Directories;
use countersign_policy::verdict::Verdict;

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    host: Arc<ConnectOnion>,
    permissions: Permissions,
    mode: Mode,
    requester: Requester,
    reachable: bool,
    /// Why the turn was stopped.
    stopped: Option<String>,
    /// The permissions as they stood before the turn's first skill.
    before_skills: Option<Permissions>,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It runs.
    Run,
    /// A person is asked; the policy's decision goes along.
    Prompt(Option<WorkspaceDecision>),
    /// It does not run, and the model is told this.
    Refused(String),
}

/// What an answer comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call runs.
    Run,
    /// It does not, and the model is told this.
    Refused(String),
    /// It does not, and neither does the rest of the turn.
    Interrupted,
}

impl Session {
    /// A session under a `host.yaml`, for somebody.
    #[must_use]
    pub fn new(host: Arc<ConnectOnion>, requester: Requester, reachable: bool) -> Self {
        Self {
            permissions: host.host.permissions.clone(),
            mode: host.host.mode,
            host,
            requester,
            reachable,
            stopped: None,
            before_skills: None,
        }
    }

    /// What happens to a call now.
    ///
    /// # Errors
    /// As [`ConnectOnion`] rules.
    pub fn check(&self, call: &Call) -> Result<Step, String> {
        let found = self.found(call)?;
        let forbidden = |reason: &str, rule: Option<&str>| {
            told::told(call, &CallEnd::Forbidden { reason, rule }).unwrap_or_default()
        };
        Ok(match found.verdict {
            Verdict::Allow => Step::Run,
            Verdict::Ask => Step::Prompt(found.policy),
            Verdict::Deny if found.policy.is_some() => {
                Step::Refused(forbidden(&found.reason, Some(POLICY)))
            }
            Verdict::Deny => Step::Refused(forbidden(&found.reason, None)),
        })
    }

    fn found(&self, call: &Call) -> Result<Found, String> {
        let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
        let standing = Standing {
            permissions: &self.permissions,
            mode: self.mode,
            era: self.host.host.era,
            requester: self.requester,
            reachable: self.reachable,
            stopped: self.stopped.is_some(),
            compat: self.host.compat,
        };
        super::permit::permit(call, scan_of(call).as_ref(), dirs, &standing)
    }

    /// Takes the answer to a prompt.
    pub fn answered(&mut self, call: &Call, answer: Answer) -> Outcome {
        match answer {
            Answer::Approved(scope) => {
                if scope == Scope::Session {
                    self.permissions.put(Permission::session(&call.tool));
                }
                Outcome::Run
            }
            Answer::Rejected { then, feedback } => {
                let reason = feedback.as_deref();
                let told = told::told(call, &CallEnd::Denied { by: "user", reason, then });
                if then == OnDeny::Stop {
                    let why = || format!("User rejected tool '{}'.", call.tool);
                    self.stopped = Some(feedback.unwrap_or_else(why));
                }
                Outcome::Refused(told.unwrap_or_default())
            }
            Answer::Closed => {
                let told = told::told(call, &CallEnd::Cancelled { reason: "closed" });
                if !self.host.compat {
                    self.reachable = false;
                }
                Outcome::Refused(told.unwrap_or_default())
            }
            Answer::Interrupted => {
                self.stopped = Some("Interrupted by user".to_owned());
                Outcome::Interrupted
            }
        }
    }

    /// Why the turn was stopped, if it was: the model does not get another one until a person
    /// writes.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        self.stopped.as_deref()
    }

    /// A person wrote: a new turn begins.
    pub fn turn_begins(&mut self) {
        self.stopped = None;
        self.before_skills = None;
    }

    /// A skill brings its patterns for this turn.
    pub fn skill(&mut self, patterns: &[&str]) {
        self.before_skills.get_or_insert_with(|| self.permissions.clone());
        patterns.iter().for_each(|pattern| self.permissions.put(Permission::skill(pattern)));
    }

    /// The turn ends: what skills brought goes, what people granted stays.
    pub fn turn_ends(&mut self) {
        if let Mode::FullAccess(Some(turns)) = &mut self.mode {
            turns.used = turns.used.saturating_add(1);
        }
        let Some(before) = self.before_skills.take() else { return };
        let now = std::mem::replace(&mut self.permissions, before);
        let given =
            now.iter().filter(|one| one.source == Source::User && one.expires != Expires::TurnEnd);
        given.for_each(|one| self.permissions.put(one.clone()));
    }

    /// Everything that is permitted now.
    #[must_use]
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// The profile.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Takes the profile that a stored session names.
    pub fn restore(&mut self, word: &str) {
        self.mode = Mode::restored(word);
    }

    /// A client wants another profile. Says the profile that it is told of; nothing where it is not
    /// told anything, because nothing changed or the word is unknown.
    pub fn wants(&mut self, word: &str, turns: Option<u32>) -> Option<Mode> {
        let old = self.mode;
        let (wanted, always_told) = match Mode::parse(word) {
            Ok(Mode::Plan) => (Mode::ReadOnly, true),
            Ok(Mode::FullAccess(_)) if !self.requester.is_operator() => (Mode::ReadOnly, true),
            Ok(Mode::FullAccess(_)) => match turns.filter(|turns| *turns > 0) {
                Some(turns) => (Mode::FullAccess(Some(Turns { turns, used: 0, skip: true })), true),
                None => (Mode::ReadOnly, true),
            },
            Ok(Mode::Workspace) if !self.requester.is_operator() => (Mode::ReadOnly, true),
            Ok(mode @ (Mode::ReadOnly | Mode::Workspace)) => (mode, false),
            Ok(Mode::RemoteExec) | Err(_) => return None,
        };
        self.mode = wanted;
        (always_told || wanted != old).then_some(wanted)
    }
}
