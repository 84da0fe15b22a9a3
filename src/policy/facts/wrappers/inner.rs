//! The commands that a command runs.

use std::borrow::Cow;

use crate::facts::programs::runs::Passage;
use crate::shell::{Dialect, Word};

/// Something that a command runs.
#[derive(Debug)]
pub enum Inner<'w, 'a> {
    /// An argument vector inside this one.
    Argv {
        /// The inner command.
        argv: &'w [Word<'a>],
        /// Unknown words follow (`xargs`).
        open: bool,
    },
    /// A shell text that needs its own scan (`bash -c`, `eval`, `trap`, `ssh`).
    Script {
        /// The text.
        text: Cow<'w, str>,
        /// The shell that reads it.
        dialect: Dialect,
    },
    /// Commands from standard input: a here-document, a file or a pipe.
    Input(Dialect),
    /// Something that cannot be known (`bash -c "$x"`, `eval $x`).
    Unknown,
}

/// The result of looking behind a command.
#[derive(Debug)]
pub struct Unwrapped<'w, 'a> {
    /// The inner commands.
    pub inner: Vec<Inner<'w, 'a>>,
    /// The meaning of the inner verdicts for the whole.
    pub passage: Passage,
    /// The `NAME=value` words of `env` and `sudo`.
    pub assigns: Vec<&'w Word<'a>>,
}

impl<'w, 'a> Unwrapped<'w, 'a> {
    pub(super) fn of(passage: Passage, inner: Vec<Inner<'w, 'a>>) -> Self {
        Self { inner, passage, assigns: Vec::new() }
    }
}

/// Limit on the inner commands of one command.
const MOST_INNER: usize = 64;

impl Unwrapped<'_, '_> {
    /// Returns true when there are too many inner commands for [`Unwrapped::inner`].
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.inner.len() > MOST_INNER
    }

    // FAIL-CLOSED: the rest is unknown, so the result is an ask at best.
    pub(super) fn cut(mut self) -> Self {
        if self.inner.len() > MOST_INNER {
            self.inner.truncate(MOST_INNER);
            self.inner.push(Inner::Unknown);
            self.passage = Passage::DenyOnly;
        }
        self
    }
}

/// Returns guesses for a wrapper with unknown options: any word may be the inner command.
pub(super) fn guesses<'w, 'a>(args: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    const MOST: usize = 8;
    (0..args.len())
        .filter_map(|at| args.get(at..))
        .filter(|argv| argv.first().is_some_and(|w| !w.text.starts_with('-')))
        .take(MOST)
        .map(|argv| Inner::Argv { argv, open: false })
        .collect()
}
