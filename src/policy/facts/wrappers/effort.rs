//! How far commands behind commands are followed.

use std::cell::Cell;

use crate::shell::Word;

/// How many words behind one command are still looked at. A wrapper with unknown options has
/// several guesses for what it runs, and each of them may be such a wrapper: `parallel parallel
/// parallel …`.
pub(crate) struct Effort(Cell<usize>);

impl Effort {
    /// Enough for what people write, and in proportion to the command.
    pub(crate) fn of(argv: &[Word<'_>]) -> Self {
        Self(Cell::new(argv.len().saturating_mul(16).saturating_add(32)))
    }

    /// Takes what looking at these words costs; false when it is spent.
    #[must_use]
    pub(crate) fn spend(&self, argv: &[Word<'_>]) -> bool {
        let left = self.0.get().checked_sub(argv.len().max(1));
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
