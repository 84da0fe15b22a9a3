//! Permission profiles and the modes of earlier versions, and who may choose them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The permission profile of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionMode {
    /// What is not permitted asks.
    ReadOnly,
    /// A fixed policy allows reads, edits of the workspace and focused tests; the rest asks.
    Workspace,
    /// Nothing asks, for a number of turns. The name alone is no authority.
    FullAccess(Option<FullAccessTurns>),
    /// Calls that no model made (`remote.call`): permitted ones run, the rest is denied.
    RemoteExec,
    /// Before the profiles: the agent makes a plan and touches nothing.
    Plan,
}

/// How many turns of full access a session has, and how many are spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FullAccessTurns {
    /// How many it was given.
    pub turns: u32,
    /// How many are spent.
    pub used: u32,
    /// The session's own flag, which goes with the grant; a grant without it is none.
    pub skip: bool,
}

impl FullAccessTurns {
    /// Whether it still is authority.
    #[must_use]
    pub fn holds(self) -> bool {
        self.skip && self.used < self.turns
    }
}

impl PermissionMode {
    /// Reads a profile's name, or what it was called before and is called since.
    /// `:danger-full-access 1/5` is one with one turn of five spent.
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

    /// As a restored session reads it: whatever is unknown is the careful one.
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

/// Whom the agent works for, as its host classified the signed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester {
    /// Nobody recorded: the agent runs on its owner's own machine.
    Local,
    /// The owner.
    Admin,
    /// Somebody with an accepted invite: may be asked, may not raise the profile.
    Contact,
    /// Anybody else: is not even asked.
    Stranger,
}

impl Requester {
    /// Reads a level; every unknown one is a stranger's.
    #[must_use]
    pub fn of(level: Option<&str>) -> Self {
        match level {
            None => Self::Local,
            Some("admin") => Self::Admin,
            Some("contact" | "whitelist") => Self::Contact,
            Some(_) => Self::Stranger,
        }
    }

    /// Whether profiles that ask less are open to it.
    #[must_use]
    pub fn is_operator(self) -> bool {
        matches!(self, Self::Local | Self::Admin)
    }
}
