//! Options and operands with which a program executes, writes or sends more than a plain
//! `name *` grant says.

use crate::shell::Word;

/// Why this command goes beyond what a plain grant of its name says; `None` when it does not.
#[must_use]
pub fn exceeds(_argv: &[Word<'_>]) -> Option<&'static str> {
    None
}
