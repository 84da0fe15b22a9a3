//! Who rules on the commands of a shell text.

use std::cell::Cell;

use super::file_rules::FileRules;
use crate::engine::part_decision::PartDecision;
use crate::engine::stack::{Hit, Stack};
use crate::facts::paths::Directories;
use crate::facts::wrappers::Effort;
use crate::rules::Rules;
use crate::rules::verdict::Verdict;
use crate::shell::Command;

/// What of a decision still matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Care {
    /// A deny: the whole is an ask already, and blind.
    Denies,
    /// The verdict: an ask with its reason is in hand already.
    Verdicts,
    /// The reason too.
    Reasons,
}

/// The rules for a shell call, and for the files that its redirects touch.
pub(crate) struct Judge<'r, 'c> {
    pub(super) care: Cell<Care>,
    pub(super) commands: Stack<'r>,
    pub(super) files: FileRules<'r, 'c>,
    pub(super) dirs: Directories<'c>,
}

/// Where an argument vector stands.
#[derive(Clone, Copy)]
pub(super) struct At<'e, 'a> {
    /// The text in which it is written out, for the command itself.
    pub(super) source: Option<&'e str>,
    /// The command that it is, or that it stands behind.
    pub(super) command: &'e Command<'a>,
    pub(super) depth: u32,
    pub(super) effort: &'e Effort,
}

impl<'r, 'c> Judge<'r, 'c> {
    pub(crate) fn new(
        commands: Stack<'r>,
        layers: &'c [&'r Rules],
        now_ms: i64,
        dirs: Directories<'c>,
    ) -> Self {
        let files = FileRules::new(layers, now_ms);
        Self { care: Cell::new(Care::Reasons), commands, files, dirs }
    }

    /// An ask, put into words only where somebody will read them.
    pub(super) fn ask(&self, reason: impl FnOnce() -> String) -> PartDecision<'r> {
        match self.care.get() {
            Care::Reasons => PartDecision::ask(reason()),
            Care::Verdicts | Care::Denies => PartDecision::ask(""),
        }
    }

    /// What the rule says, an ask in words as above.
    pub(super) fn part(&self, hit: Hit<'r>, subject: impl FnOnce() -> String) -> PartDecision<'r> {
        if hit.verdict == Verdict::Ask && self.care.get() < Care::Reasons {
            return PartDecision::ask("");
        }
        PartDecision::of(hit, subject)
    }
}
