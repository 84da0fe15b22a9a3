//! The judge of a shell text's commands.

use std::cell::Cell;

use crate::engine::commands::file_rules::FileRules;
use crate::engine::part_decision::PartDecision;
use crate::engine::stack::{Hit, Stack};
use crate::facts::links::Links;
use crate::facts::paths::Directories;
use crate::facts::wrappers::Effort;
use crate::rules::Rules;
use crate::rules::verdict::Verdict;
use crate::shell::Command;

/// The part of a decision that can still change.
// Ordered: once an ask is found, its reason is fixed; once nothing can be read, only a deny is of
// interest. Longer texts thus build no sentences that nobody reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Care {
    /// A deny: the whole is already an ask, and blind.
    Denies,
    /// The verdict: an ask with its reason is already found.
    Verdicts,
    /// The reason as well.
    Reasons,
}

/// The rules for a shell call and for the files of its redirects.
pub(crate) struct Judge<'r, 'c> {
    pub(super) care: Cell<Care>,
    pub(super) commands: Stack<'r>,
    pub(super) files: FileRules<'r, 'c>,
    /// Some rule allows the class of reading calls.
    pub(super) reading: bool,
    pub(super) dirs: Directories<'c>,
    pub(super) links: &'c Links,
}

/// The context of an argument vector.
#[derive(Clone, Copy)]
pub(super) struct At<'e, 'a> {
    /// The text that contains the words; only for the command itself.
    pub(super) source: Option<&'e str>,
    /// The command itself, or the command that it is behind.
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
        links: &'c Links,
    ) -> Self {
        let files = FileRules::new(layers, now_ms);
        let reading = layers.iter().any(|layer| layer.allows_reading());
        Self { care: Cell::new(Care::Reasons), commands, files, reading, dirs, links }
    }

    /// Returns an ask; builds the sentence only if someone will read it.
    pub(super) fn ask(&self, reason: impl FnOnce() -> String) -> PartDecision<'r> {
        match self.care.get() {
            Care::Reasons => PartDecision::ask(reason()),
            Care::Verdicts | Care::Denies => PartDecision::ask(""),
        }
    }

    /// Returns the decision of a rule, with the sentence as in [`Self::ask`].
    pub(super) fn part(&self, hit: Hit<'r>, subject: impl FnOnce() -> String) -> PartDecision<'r> {
        if hit.verdict == Verdict::Ask && self.care.get() < Care::Reasons {
            return PartDecision::ask("");
        }
        PartDecision::of(hit, subject)
    }
}
