//! `?wait=S`: how long a request is held for the answer of its ask.

use countersign_protocol::WaitQuery;
use std::time::Duration;

/// The longest that one request is held; seconds.
const LONGEST_WAIT: u64 = 60;

/// How long the request is held at most.
pub(super) fn longest(query: &WaitQuery) -> Duration {
    Duration::from_secs(query.wait.unwrap_or(0).min(LONGEST_WAIT))
}
