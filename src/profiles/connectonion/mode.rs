//! Permission profiles, the modes of earlier versions, and who may choose them.

use std::fmt;

use serde::{Deserialize, Serialize};

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
