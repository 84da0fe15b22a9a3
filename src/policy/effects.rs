//! What a call touches, for the card and the log. Never a promise of safety.

use crate::shell::Scan;

/// One thing that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "effect")]
#[non_exhaustive]
pub enum Effect {
    /// What it does cannot be told from the call.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// Where a call happens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place<'p> {
    /// The working directory, which is also the workspace.
    pub cwd: Option<&'p str>,
    /// The home directory.
    pub home: Option<&'p str>,
}

/// Effects of a shell text.
#[must_use]
pub fn of_shell(_scan: &Scan<'_>, _place: Place<'_>) -> Vec<Effect> {
    Vec::new()
}

/// Effects of any other tool, by the facts of its call: the kind of tool and its paths or URLs.
#[must_use]
pub fn of_tool(_deed: Deed, _values: &[&str], _place: Place<'_>) -> Vec<Effect> {
    Vec::new()
}

/// What a tool that is not a shell does with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deed {
    /// Reads the paths.
    Read,
    /// Writes the paths.
    Write,
    /// Fetches the URLs.
    Fetch,
    /// Not known.
    Unknown,
}
