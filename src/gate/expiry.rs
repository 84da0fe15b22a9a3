//! What became of an ask that was looked at for its deadline.

use std::time::Duration;

/// Before what is overdue still is looked at again.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// What became of an ask that was looked at for its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Expiry {
    /// It is not overdue any more, or never was.
    Settled,
    /// It is overdue still; another daemon may have to say what that comes to.
    Later,
}

impl Expiry {
    /// How long it is to be left alone at least.
    pub(super) fn rest(self) -> Duration {
        match self {
            Self::Settled => Duration::ZERO,
            Self::Later => AGAIN,
        }
    }
}
