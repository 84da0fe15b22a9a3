//! The limit on following commands behind commands.

use std::cell::Cell;

use crate::shell::Word;

/// The number of words behind one command that are still looked at. A wrapper with unknown options
/// yields several guesses, and each of them may be such a wrapper again: `parallel parallel
/// parallel …`.
pub(crate) struct Effort(Cell<usize>);

impl Effort {
    /// Creates a budget that is ample for what people write and proportional to the command.
    pub(crate) fn of(argv: &[Word<'_>]) -> Self {
        // In proportion to the command, so that long texts stay affordable.
        Self(Cell::new(argv.len().saturating_mul(16).saturating_add(32)))
    }

    /// Takes the cost of looking at these words; returns false when the budget is spent.
    #[must_use]
    pub(crate) fn spend(&self, argv: &[Word<'_>]) -> bool {
        let left = self.0.get().checked_sub(argv.len().max(1));
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}
