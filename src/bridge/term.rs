//! For how long this daemon may act for a chat account, by its own clock.

use crate::store::Fence;
use countersign_port::CancellationToken;
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// A time of leading. It ends before the lease does, so that nobody acts for an account that another
/// daemon may already have.
#[derive(Debug)]
pub struct Term {
    fence: Fence,
    /// `None`: nobody else can ever lead.
    until: Mutex<Option<Instant>>,
    over: CancellationToken,
}

impl Term {
    /// A term behind this fence.
    #[must_use]
    pub fn new(fence: Fence, until: Option<Instant>) -> Self {
        Self { fence, until: Mutex::new(until), over: CancellationToken::new() }
    }

    /// What the store compares with.
    #[must_use]
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether it goes on right now.
    // INVARIANT: asked directly before every send, so that a process that was frozen past its lease
    // sends nothing.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.over.is_cancelled() && self.until().is_none_or(|until| Instant::now() < until)
    }

    /// When it ends by itself.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets it go on until then.
    pub fn extend(&self, until: Instant) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    /// Ends it.
    pub fn end(&self) {
        self.over.cancel();
    }

    /// Waits for its end.
    pub async fn ended(&self) {
        self.over.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_term_ends_by_the_clock_whatever_else_happens() {
        let fence = Fence { name: "chat".into(), epoch: 1 };
        let term = Term::new(fence, Some(Instant::now()));
        assert!(!term.holds(), "nobody had to tell it");
        term.extend(Instant::now() + Duration::from_secs(60));
        assert!(term.holds());
        term.end();
        assert!(!term.holds());
    }
}
