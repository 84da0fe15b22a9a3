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
    /// A script file, or a text that is not read here: its name or words are in the call.
    File,
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

/// Returns guesses for a wrapper with unknown options: any word may be the inner command, and a
/// word with blanks, or the value of an option with blanks, may be a text for a shell.
pub(super) fn guesses<'w, 'a>(args: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    let command = |at: usize| {
        let argv = args.get(at..).filter(|it| it.first().is_some_and(|w| !is_option(&w.text)))?;
        Some(Inner::Argv { argv, open: false })
    };
    let commands = (0..args.len()).filter_map(command);
    let texts = args.iter().filter_map(|word| {
        let word = word.literal().filter(|text| text.contains(char::is_whitespace))?;
        let text = match is_option(word) {
            true => word.split_once('=').map(|(_, value)| value).or_else(|| word.get(2..))?,
            false => word,
        };
        Some(Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Bash })
    });
    texts.chain(commands).take(MOST_INNER + 1).collect()
}

fn is_option(text: &str) -> bool {
    text.starts_with('-')
}
