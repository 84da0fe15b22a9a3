//! What a command runs besides itself.

use std::borrow::Cow;

use crate::facts::programs::runs::Passage;
use crate::shell::{Dialect, Word};

/// What a command runs besides itself.
#[derive(Debug)]
pub enum Inner<'w, 'a> {
    /// An argument vector inside this one.
    Argv {
        /// The inner command.
        argv: &'w [Word<'a>],
        /// More words follow that are not known (`xargs`).
        open: bool,
    },
    /// A shell text, to be scanned in its turn (`bash -c`, `eval`, `trap`, `ssh`).
    Script {
        /// The text.
        text: Cow<'w, str>,
        /// The shell that reads it.
        dialect: Dialect,
    },
    /// The commands come from standard input: a here-document, a file or a pipe.
    Input(Dialect),
    /// Something runs that cannot be known (`bash -c "$x"`, `eval $x`).
    Unknown,
}

/// What runs behind a command.
#[derive(Debug)]
pub struct Unwrapped<'w, 'a> {
    /// The inner commands.
    pub inner: Vec<Inner<'w, 'a>>,
    /// What their verdicts mean for the whole.
    pub passage: Passage,
    /// The `NAME=value` words of `env` and `sudo`, whole.
    pub assigns: Vec<&'w Word<'a>>,
}

impl<'w, 'a> Unwrapped<'w, 'a> {
    pub(super) fn of(passage: Passage, inner: Vec<Inner<'w, 'a>>) -> Self {
        Self { inner, passage, assigns: Vec::new() }
    }
}

/// More inner commands of one command than this are not looked at one by one.
const MOST_INNER: usize = 64;

impl Unwrapped<'_, '_> {
    /// Some inner commands are not among [`Unwrapped::inner`], because there are too many.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.inner.len() > MOST_INNER
    }

    // FAIL-CLOSED: with the rest unknown it is an ask at best.
    pub(super) fn cut(mut self) -> Self {
        if self.inner.len() > MOST_INNER {
            self.inner.truncate(MOST_INNER);
            self.inner.push(Inner::Unknown);
            self.passage = Passage::DenyOnly;
        }
        self
    }
}

/// For a wrapper whose options are not known: any word may be the inner command.
pub(super) fn guesses<'w, 'a>(args: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    const MOST: usize = 8;
    (0..args.len())
        .filter_map(|at| args.get(at..))
        .filter(|argv| argv.first().is_some_and(|w| !w.text.starts_with('-')))
        .take(MOST)
        .map(|argv| Inner::Argv { argv, open: false })
        .collect()
}
