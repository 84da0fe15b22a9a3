//! One buzz for a burst: which posts notify, and which arrive in silence.

use crate::{Card, Target, Tone};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A post this soon after another one at the same target belongs to its burst.
const BURST: Duration = Duration::from_secs(5);
/// A burst that goes on for longer notifies again.
const LONGEST: Duration = Duration::from_secs(60);
/// More targets than this are not remembered; a forgotten one notifies once too often.
const REMEMBERED: usize = 1024;

/// When cards were posted at each target.
#[derive(Debug, Default)]
pub struct Bell(Mutex<HashMap<Target, Posts>>);

#[derive(Debug, Clone, Copy)]
struct Posts {
    last: Instant,
    notified: Instant,
}

impl Bell {
    /// Whether the post of a card notifies people: the first of a burst does, and what is critical.
    /// Redraws never do.
    #[must_use]
    pub fn notifies(&self, target: &Target, card: &Card) -> bool {
        let now = Instant::now();
        let mut targets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if targets.len() >= REMEMBERED {
            targets.retain(|_, posts| now - posts.last < BURST);
        }
        let before = targets.get(target).copied();
        let in_burst =
            before.is_some_and(|posts| now - posts.last < BURST && now - posts.notified < LONGEST);
        let notifies = card.tone == Tone::Critical || !in_burst;
        let notified = before.filter(|_| !notifies).map_or(now, |posts| posts.notified);
        targets.insert(target.clone(), Posts { last: now, notified });
        notifies
    }
}

#[cfg(all(test, feature = "testkit"))]
mod tests {
    use super::*;
    use crate::testkit::sample_card;

    #[tokio::test(start_paused = true)]
    async fn a_burst_notifies_once_a_minute_and_what_is_critical_always() {
        let (bell, here, there) = (Bell::default(), Target("1".into()), Target("2".into()));
        let card = sample_card("ls");
        assert!(bell.notifies(&here, &card) && bell.notifies(&there, &card));
        assert!(!bell.notifies(&here, &card));
        assert!(bell.notifies(&here, &Card { tone: Tone::Critical, ..card.clone() }));
        let mut notified = 0;
        for _ in 0..30 {
            tokio::time::advance(Duration::from_secs(4)).await;
            notified += usize::from(bell.notifies(&here, &card));
        }
        assert_eq!(notified, 2, "two minutes of one burst");
        tokio::time::advance(BURST).await;
        assert!(bell.notifies(&here, &card));
    }
}
