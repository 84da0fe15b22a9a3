//! For how long no thread is asked for after the platform refused one.

use std::time::Duration;
use tokio::time::Instant;

/// A change of the bot's rights ends it before.
const REFUSED: Duration = Duration::from_secs(60);

/// A pause, if there is one.
#[derive(Debug, Default)]
pub(super) struct ThreadPause(Option<Instant>);

impl ThreadPause {
    /// The platform refused a thread.
    pub(super) fn begin(&mut self) {
        self.0 = Some(Instant::now() + REFUSED);
    }

    /// What the bot may do has changed.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    pub(super) fn lasts(&self) -> bool {
        self.0.is_some_and(|until| Instant::now() < until)
    }
}
