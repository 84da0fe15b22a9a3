//! The end of a daemon.

use super::Gate;

impl Gate {
    /// Lets every waiter go with the ask as it is; no caller that leaves now closes its ask.
    pub fn stop(&self) {
        self.open.stopping.cancel();
    }

    /// Waits until [`Gate::stop`] is called.
    pub async fn stopped(&self) {
        self.open.stopping.cancelled().await;
    }

    /// Whether [`Gate::stop`] was called.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.open.stopping.is_cancelled()
    }
}
