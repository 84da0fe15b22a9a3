//! What an adapter reports of its connection to the platform, for those that follow it.

use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Whether presses on this platform reach the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiving {
    /// Not connected yet.
    Starting,
    /// They do.
    Listening,
    /// They do not. The adapter keeps trying.
    Deaf {
        /// Unix milliseconds.
        since: i64,
        /// A sentence for people that says what is wrong and how to fix it.
        why: String,
    },
}

/// An adapter's reports. The adapter writes them; the core follows them.
#[derive(Debug)]
pub struct Signals {
    receiving: watch::Sender<Receiving>,
    access: watch::Sender<u64>,
}

impl Default for Signals {
    fn default() -> Self {
        Self { receiving: watch::Sender::new(Receiving::Starting), access: watch::Sender::new(0) }
    }
}

impl Signals {
    /// The adapter does not run (any more), and is not meant to.
    pub fn idle(&self) {
        self.receiving.send_replace(Receiving::Starting);
    }

    /// Presses reach the core. Whether that is news.
    pub fn listening(&self) -> bool {
        self.report(Receiving::Listening)
    }

    /// Presses do not reach the core. Whether that, or the reason, is news.
    pub fn deaf(&self, why: impl Into<String>) -> bool {
        let since = match &*self.receiving.borrow() {
            Receiving::Deaf { since, .. } => *since,
            Receiving::Starting | Receiving::Listening => now(),
        };
        self.report(Receiving::Deaf { since, why: why.into() })
    }

    /// Where the bot may write has changed, such as after it was added to a chat: what could not be
    /// delivered may be tried again.
    pub fn access_changed(&self) {
        self.access.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Whether presses reach the core now.
    #[must_use]
    pub fn receiving(&self) -> Receiving {
        self.receiving.borrow().clone()
    }

    /// Tells of every change of [`Signals::receiving`].
    #[must_use]
    pub fn follow_receiving(&self) -> watch::Receiver<Receiving> {
        self.receiving.subscribe()
    }

    /// Tells of every [`Signals::access_changed`].
    #[must_use]
    pub fn follow_access(&self) -> watch::Receiver<u64> {
        self.access.subscribe()
    }

    fn report(&self, new: Receiving) -> bool {
        self.receiving.send_if_modified(|now| {
            let news = *now != new;
            *now = new;
            news
        })
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deaf_adapter_keeps_the_time_from_which_it_is_deaf_whatever_the_reason() {
        let signals = Signals::default();
        assert_eq!(signals.receiving(), Receiving::Starting);
        assert!(signals.deaf("one"));
        let Receiving::Deaf { since, .. } = signals.receiving() else { return };
        assert!(!signals.deaf("one"), "that is no news");
        assert!(signals.deaf("two"));
        assert_eq!(signals.receiving(), Receiving::Deaf { since, why: "two".to_owned() });
        assert!(signals.listening());
        assert!(!signals.listening());
        assert_eq!(signals.receiving(), Receiving::Listening);
    }

    #[test]
    fn followers_are_told_of_news_only() {
        let signals = Signals::default();
        let mut receiving = signals.follow_receiving();
        let mut access = signals.follow_access();
        signals.listening();
        assert!(receiving.has_changed().is_ok_and(|news| news));
        receiving.mark_unchanged();
        signals.listening();
        assert!(receiving.has_changed().is_ok_and(|news| !news));
        signals.access_changed();
        assert!(access.has_changed().is_ok_and(|news| news));
        access.mark_unchanged();
        assert!(access.has_changed().is_ok_and(|news| !news));
    }
}
