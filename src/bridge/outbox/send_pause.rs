//! What a worker waits for after a round.

use std::time::Duration;

/// What ends the pause, besides its time.
pub(super) enum SendPause {
    /// The platform asked for quiet: nothing is sent before, whatever changes.
    Quiet(Duration),
    /// The target refuses what is sent; it may be told that it does not any more.
    UntilAccess(Duration),
    /// Whatever changes.
    UntilChange(Duration),
}
