//! What the shell's own commands do to the commands after them.

use crate::shell::Word;

/// How a shell builtin bears on a ruling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Touches nothing outside the shell (`true`, `[`, `exit`, `set -e`): needs no rule.
    Harmless,
    /// Changes what later commands mean, or runs something unseen: always an ask, with the reason.
    Poison(&'static str),
}

/// The builtin behind a command; `None` for programs and for builtins that rules decide (`echo`,
/// `cd`).
#[must_use]
pub fn builtin(_argv: &[Word<'_>]) -> Option<Builtin> {
    None
}
