//! `?wait=S`: the time that a request waits for the answer of its ask.

use countersign_domain::wire::WaitQuery;
use std::time::Duration;

/// The longest wait of one request, in seconds. Clients repeat the request.
const LONGEST_WAIT: u64 = 60;

/// The wait that a request asks for, limited.
pub(super) fn longest(query: &WaitQuery) -> Duration {
    Duration::from_secs(query.wait.unwrap_or(0).min(LONGEST_WAIT))
}
