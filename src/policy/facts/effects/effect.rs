//! One thing that a call touches, and the words for it.

use std::fmt;

use crate::facts::paths::{self, Directories};

/// One thing that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
#[non_exhaustive]
pub enum Effect {
    /// A program is started.
    Runs {
        /// Its name, with the sub-command where that says more (`git push`).
        what: String,
    },
    /// A file is read that lies outside the workspace or holds secrets.
    Reads(Target),
    /// A file is created or changed.
    Writes(Target),
    /// A file is deleted.
    Deletes(Target),
    /// A file goes elsewhere.
    Moves(Target),
    /// Rights or owner of a file change.
    Rights(Target),
    /// Another host is spoken to.
    Reaches {
        /// Name or address.
        host: String,
    },
    /// Data leaves this machine: pushed, published, uploaded.
    Publishes {
        /// What is done (`git push`).
        what: String,
        /// Where to, as far as the call says.
        to: String,
    },
    /// A command runs as another user.
    Privilege {
        /// The program that gives them.
        how: String,
    },
    /// Something continues after the call has ended.
    Background,
    /// What it does cannot be told from the call.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// A path and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Target {
    /// As the call names it.
    pub path: String,
    /// It lies outside the workspace.
    pub outside: bool,
    /// It is known to hold keys, tokens or passwords.
    pub secret: bool,
}

impl Target {
    pub(super) fn new(path: &str, dirs: Directories<'_>) -> Self {
        let outside = paths::outside(path, dirs);
        Self { path: path.to_owned(), outside, secret: paths::secret(path, dirs) }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match (self.outside, self.secret) {
            (true, true) => f.write_str(" (outside the workspace, holds secrets)"),
            (true, false) => f.write_str(" (outside the workspace)"),
            (false, true) => f.write_str(" (holds secrets)"),
            (false, false) => Ok(()),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs { what } => write!(f, "runs {what}"),
            Self::Reads(target) => write!(f, "reads {target}"),
            Self::Writes(target) => write!(f, "writes {target}"),
            Self::Deletes(target) => write!(f, "deletes {target}"),
            Self::Moves(target) => write!(f, "moves {target}"),
            Self::Rights(target) => write!(f, "changes the rights of {target}"),
            Self::Reaches { host } => write!(f, "reaches {host}"),
            Self::Publishes { what, to } if to.is_empty() => write!(f, "publishes ({what})"),
            Self::Publishes { what, to } => write!(f, "publishes to {to} ({what})"),
            Self::Privilege { how } => write!(f, "runs as another user ({how})"),
            Self::Background => f.write_str("continues in the background"),
            Self::Unknown { why } => write!(f, "unknown: {why}"),
        }
    }
}
