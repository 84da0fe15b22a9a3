//! Repeating a call that a person waits for.

use crate::api::Failure;
use crate::errors::pause;
use std::time::{Duration, Instant};

/// Repeats a call while that makes sense, for half a minute at most: a person waits for it.
pub(crate) async fn patiently<T, F, R>(call: F) -> Result<T, Failure>
where
    F: Fn() -> R,
    R: Future<Output = Result<T, Failure>>,
{
    let give_up = Instant::now() + Duration::from_secs(30);
    let mut backoff = Duration::from_millis(250);
    loop {
        let failure = match call().await {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        match pause(&failure, backoff) {
            Some(pause) if Instant::now() + pause < give_up => tokio::time::sleep(pause).await,
            _ => return Err(failure),
        }
        backoff = (backoff * 2).min(Duration::from_secs(5));
    }
}
