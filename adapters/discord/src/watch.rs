//! Notices a connection that is dead, whatever serenity thinks of it.

use std::time::Duration;
use tokio::time::Instant;

/// Discord wants a heartbeat every 41 s; after this long without one the connection is dead.
const SILENCE: Duration = Duration::from_secs(150);
/// A connection that ends sooner was a hasty one.
const SETTLED: Duration = Duration::from_secs(60);

/// What is known of a connection's life.
pub(crate) struct Watch {
    patience: Duration,
    first_up: Option<Instant>,
    up_now: bool,
    /// Since when it is not connected.
    away_since: Option<Instant>,
    /// The last sign of life, and what it was.
    heard: (Instant, Option<Duration>),
}

/// What a look shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConnectionChange {
    /// Nothing new.
    Alive,
    /// It just went away.
    Away,
    /// It just came back.
    Back,
    /// It will not come back by itself.
    Dead,
}

impl Watch {
    /// For a connection that may be away for as long as `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        let now = Instant::now();
        let heard = (now, None);
        Self { patience, first_up: None, up_now: false, away_since: Some(now), heard }
    }

    /// Discord says that it is up (again).
    pub(crate) fn up(&mut self, now: Instant) {
        self.first_up.get_or_insert(now);
        (self.up_now, self.away_since) = (true, None);
        self.heard.0 = now;
    }

    /// Whether it was up long enough for the next connection not to be a hasty one.
    pub(crate) fn settled(&self) -> bool {
        self.first_up.is_some_and(|up| up.elapsed() >= SETTLED)
    }

    /// Whether serenity calls it connected, and the latency of its last heartbeat.
    pub(crate) fn look(
        &mut self,
        connected: bool,
        latency: Option<Duration>,
        now: Instant,
    ) -> ConnectionChange {
        if latency != self.heard.1 {
            self.heard = (now, latency);
        }
        if now - self.heard.0 >= SILENCE {
            return ConnectionChange::Dead;
        }
        if connected {
            self.away_since = None;
            // The first time counts once Discord has said so.
            let was_up = self.first_up.is_some();
            let back = was_up && !std::mem::replace(&mut self.up_now, was_up);
            return if back { ConnectionChange::Back } else { ConnectionChange::Alive };
        }
        let since = *self.away_since.get_or_insert(now);
        if now - since >= self.patience {
            return ConnectionChange::Dead;
        }
        if std::mem::take(&mut self.up_now) {
            ConnectionChange::Away
        } else {
            ConnectionChange::Alive
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_connection_that_goes_away_may_come_back_within_its_patience() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        watch.up(now);
        assert_eq!(watch.look(true, None, now), ConnectionChange::Alive);
        assert_eq!(watch.look(false, None, now + SECOND), ConnectionChange::Away);
        assert_eq!(watch.look(false, None, now + 9 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(true, None, now + 10 * SECOND), ConnectionChange::Back);
        assert_eq!(watch.look(false, None, now + 11 * SECOND), ConnectionChange::Away);
        assert_eq!(watch.look(false, None, now + 21 * SECOND), ConnectionChange::Dead);
    }

    #[tokio::test]
    async fn a_connection_that_never_stands_is_dead_after_its_patience() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        assert_eq!(watch.look(false, None, now + 9 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(false, None, now + 11 * SECOND), ConnectionChange::Dead);
        assert!(!watch.settled());
    }

    #[tokio::test]
    async fn a_connection_without_heartbeats_is_dead_though_it_looks_connected() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        watch.up(now);
        assert_eq!(watch.look(true, Some(SECOND), now + 100 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(true, Some(SECOND), now + 249 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(true, Some(SECOND), now + 250 * SECOND), ConnectionChange::Dead);
    }
}
