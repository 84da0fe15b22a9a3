//! What really runs behind a command that runs other commands.

use crate::shell::Word;

/// What a command runs besides itself.
#[derive(Debug)]
pub enum Inner<'w, 'a> {
    /// An argument vector inside this one; `open` when the wrapper appends words (`xargs`).
    Argv {
        /// The inner command.
        argv: &'w [Word<'a>],
        /// More words follow that are not known.
        open: bool,
    },
    /// A shell text, to be scanned in its turn (`bash -c`, `eval`, `trap`).
    Script(&'w str),
    /// Something runs that cannot be known (`bash -c "$x"`, `eval $x`, `sh script`).
    Unknown,
}

/// How far rules about the inner command speak for the whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// The inner command's verdict is the whole verdict (`timeout 5 ls`); a deny or ask rule on the
    /// wrapper itself still holds.
    Inner,
    /// Both the outer and every inner command must be allowed (`find … -exec`).
    Both,
    /// An inner deny denies; otherwise the whole is an ask, whatever is allowed (`sudo`, `ssh`).
    DenyOnly,
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

/// Looks behind a command that runs others; `None` when it is not one.
#[must_use]
pub fn unwrap<'w, 'a>(_argv: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    None
}
