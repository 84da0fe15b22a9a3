//! Things that anybody can make happen, logged now and then.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The pause between two lines of the log.
const PAUSE: Duration = Duration::from_secs(60);

/// Counts what happens between two lines of the log.
#[derive(Default)]
pub(crate) struct LogNowAndThen(Mutex<(usize, Option<Instant>)>);

impl LogNowAndThen {
    /// Counts one more. Returns how many to log, where it is time to: the first at once.
    pub(crate) fn count(&self, now: Instant) -> Option<usize> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, last) = &mut *counted;
        *count += 1;
        let waits = last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE);
        (!waits).then(|| {
            *last = Some(now);
            std::mem::take(count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_logged_at_once_and_the_rest_together() {
        let (counted, now) = (LogNowAndThen::default(), Instant::now());
        assert_eq!(counted.count(now), Some(1));
        assert_eq!((1..100).find_map(|_| counted.count(now)), None);
        assert_eq!(counted.count(now + PAUSE), Some(100));
        assert_eq!(counted.count(now + PAUSE), None);
    }
}
