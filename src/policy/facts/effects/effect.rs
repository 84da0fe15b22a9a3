//! One effect of a call, and its text.

use std::fmt;

use crate::facts::paths::{self, Directories};

/// One effect of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
#[non_exhaustive]
pub enum Effect {
    /// A program is started.
    Runs {
        /// The name, with the sub-command where that is clearer (`git push`).
        what: String,
    },
    /// A file is read that is outside the project or holds secrets.
    Reads(PathEffect),
    /// A file is created or changed.
    Writes(PathEffect),
    /// A file is deleted.
    Deletes(PathEffect),
    /// A file is moved to another place.
    Moves(PathEffect),
    /// The permissions or the owner of a file change.
    Rights(PathEffect),
    /// Another host is contacted.
    Reaches {
        /// Name or address.
        host: String,
    },
    /// Data leaves this machine: pushed, published, uploaded.
    Publishes {
        /// The action (`git push`).
        what: String,
        /// The destination, as far as the call names it.
        to: String,
    },
    /// A command runs as another user.
    Privilege {
        /// The program that changes the user.
        how: String,
        /// The user, where that is certain.
        user: Option<&'static str>,
    },
    /// Something continues after the call has ended.
    Background,
    /// The effect cannot be determined from the call.
    Unknown {
        /// The reason; empty where there is no more to say.
        why: String,
    },
}

/// A path and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct PathEffect {
    /// The path as the call names it.
    pub path: String,
    /// The path is outside the project.
    pub outside: bool,
    /// The path is known to hold keys, tokens or passwords.
    pub secret: bool,
}

impl PathEffect {
    pub(super) fn new(path: &str, dirs: Directories<'_>) -> Self {
        let outside = paths::outside(path, dirs);
        Self { path: path.to_owned(), outside, secret: paths::secret(path, dirs) }
    }
}

impl fmt::Display for PathEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match (self.outside, self.secret) {
            (true, true) => f.write_str(" (outside the project, holds secrets)"),
            (true, false) => f.write_str(" (outside the project)"),
            (false, true) => f.write_str(" (holds secrets)"),
            (false, false) => Ok(()),
        }
    }
}

impl Effect {
    /// Returns the name by which rules call this kind of effect.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Runs { .. } => "runs",
            Self::Reads(_) => "reads",
            Self::Writes(_) => "writes",
            Self::Deletes(_) => "deletes",
            Self::Moves(_) => "moves",
            Self::Rights(_) => "rights",
            Self::Reaches { .. } => "reaches",
            Self::Publishes { .. } => "publishes",
            Self::Privilege { .. } => "privilege",
            Self::Background => "background",
            Self::Unknown { .. } => "unknown",
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
            Self::Privilege { how, user } => {
                write!(f, "runs as {} ({how})", user.unwrap_or("another user"))
            }
            Self::Background => f.write_str("continues in the background"),
            Self::Unknown { why } if why.is_empty() => f.write_str("effects unknown"),
            Self::Unknown { why } => write!(f, "effects unknown: {why}"),
        }
    }
}
