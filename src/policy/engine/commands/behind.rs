//! Decides what runs behind a wrapper: other commands and scripts.

use crate::engine::commands::judge::{At, Judge};
use crate::engine::part_decision::PartDecision;
use crate::facts::wrappers::{self, Inner, Unwrapped, unwrap};
use crate::shell::{self, Command, Dialect, RedirectOp, Word};

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;
const TOO_DEEP: &str = "Could not fully analyse this command: it is nested too deeply.";
const UNSEEN: &str = "Could not fully analyse this command: a shell reads commands from elsewhere.";
const UNKNOWN: &str = "What the command runs is only known when it runs.";

impl<'r> Judge<'r, '_> {
    /// Decides everything that runs behind a wrapper; the strictest part counts.
    pub(super) fn behind(&self, behind: &Unwrapped<'_, '_>, at: At<'_, '_>) -> PartDecision<'r> {
        if at.depth >= MAX_DEPTH {
            return PartDecision::blind(TOO_DEEP);
        }
        behind
            .inner
            .iter()
            .map(|inner| match inner {
                Inner::Argv { argv, open } => {
                    let at = At { source: None, depth: at.depth + 1, ..at };
                    self.argv(argv, unwrap(argv).as_ref(), *open, at).1
                }
                Inner::Script { text, dialect } => self.script(text, *dialect, at.depth),
                Inner::Input(dialect) => match script_input(at.command) {
                    Some(text) => self.script(text, *dialect, at.depth),
                    None => PartDecision::blind(UNSEEN),
                },
                Inner::File | Inner::Unknown => PartDecision::blind(UNKNOWN),
            })
            .reduce(PartDecision::max)
            .unwrap_or_else(|| PartDecision::blind(UNKNOWN))
    }

    fn script(&self, text: &str, dialect: Dialect, depth: u32) -> PartDecision<'r> {
        let scan = shell::scan_as(text, dialect);
        self.scan(text, &scan, &wrappers::behind(&scan.commands), depth + 1)
    }
}

/// Returns the here-document or here-string from which a shell reads its commands.
fn script_input<'c>(command: &'c Command<'_>) -> Option<&'c str> {
    // Of several redirects the last one is the shell's input.
    let redirect = command.redirects.iter().rev().find(|redirect| {
        matches!(redirect.op, RedirectOp::HereDocument | RedirectOp::HereString | RedirectOp::Read)
    })?;
    // `bash < file`: the commands are not in the text.
    (redirect.op != RedirectOp::Read).then(|| redirect.target.literal()).flatten()
}

/// Iterates over the commands behind a wrapper that are words of the text.
pub(super) fn inner<'c, 'a>(
    behind: Option<&Unwrapped<'c, 'a>>,
) -> impl Iterator<Item = &'c [Word<'a>]> {
    behind.into_iter().flat_map(|behind| &behind.inner).filter_map(|inner| match inner {
        Inner::Argv { argv, .. } => Some(*argv),
        _ => None,
    })
}
