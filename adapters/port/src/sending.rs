//! What sending shares on every platform: only the daemon that leads sends; a burst notifies once;
//! one drawing of a message at a time, never an older one over a newer one; strangers do not make
//! the bot talk.

use crate::{MessageRef, Target, Tone, locked};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::time::Instant;

/// Whether this daemon leads for an account.
pub trait Lead: Send + Sync {
    /// Whether it does right now, by its own clock.
    fn holds(&self) -> bool;
}

/// Asked directly before every call to a platform: a daemon that was frozen past its lease sends
/// nothing, acknowledgements included, because another one may have done so. Open for those that
/// never leads, such as `doctor`. Cheap to clone.
#[derive(Clone, Default)]
pub struct SendGuard(Arc<Mutex<Option<Arc<dyn Lead>>>>);

impl SendGuard {
    /// From now on this says whether anything may be sent.
    pub fn follow(&self, lead: Arc<dyn Lead>) {
        *locked(&self.0) = Some(lead);
    }

    /// Whether anything may be sent right now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let lead = locked(&self.0);
        lead.as_ref().is_none_or(|lead| lead.holds())
    }
}

impl fmt::Debug for SendGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendGuard({})", if self.is_open() { "open" } else { "closed" })
    }
}

/// A post this soon after another one at the same target belongs to its burst.
const BURST: Duration = Duration::from_secs(5);
/// A burst that goes on for longer notifies again.
const LONGEST: Duration = Duration::from_secs(60);
/// More targets than this are not remembered; a forgotten one notifies once too often.
const TARGETS: usize = 1024;

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
    pub fn notifies(&self, target: &Target, tone: Tone) -> bool {
        let now = Instant::now();
        let mut targets = locked(&self.0);
        if targets.len() >= TARGETS {
            targets.retain(|_, posts| now - posts.last < BURST);
        }
        let before = targets.get(target).copied();
        let in_burst =
            before.is_some_and(|posts| now - posts.last < BURST && now - posts.notified < LONGEST);
        let notifies = tone == Tone::Critical || !in_burst;
        let notified = before.filter(|_| !notifies).map_or(now, |posts| posts.notified);
        targets.insert(target.clone(), Posts { last: now, notified });
        notifies
    }
}

/// More messages than this are not remembered.
const MESSAGES: usize = 1024;

/// The newest revision drawn of each message, behind its turn.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<MessageRef, Arc<Turn<u32>>>>);

impl Turns {
    /// Waits for the turn to draw a message; holds the newest revision that it shows.
    pub async fn wait(&self, message: &MessageRef) -> OwnedMutexGuard<u32> {
        self.of(message).lock_owned().await
    }

    /// The turn where nobody else has it.
    #[must_use]
    pub fn now(&self, message: &MessageRef) -> Option<OwnedMutexGuard<u32>> {
        self.of(message).try_lock_owned().ok()
    }

    fn of(&self, message: &MessageRef) -> Arc<Turn<u32>> {
        let mut turns = locked(&self.0);
        if turns.len() >= MESSAGES {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns.entry(message.clone()).or_default().clone()
    }
}

/// One answer a channel in this time.
const PER_CHANNEL: Duration = Duration::from_secs(5);
/// One answer in this time, to all together.
const OVERALL: Duration = Duration::from_millis(500);
/// More channels than this are not remembered.
const CHANNELS: usize = 1024;

/// How often a bot answers what anybody can write to it: when it did so last, by channel.
#[derive(Debug, Default)]
pub struct ChannelReplyLimit(Mutex<HashMap<String, Instant>>);

impl ChannelReplyLimit {
    /// Whether the bot may say something in this channel now; a yes is counted.
    #[must_use]
    pub fn allows(&self, channel: &str, now: Instant) -> bool {
        let mut last = locked(&self.0);
        last.retain(|_, at| now.duration_since(*at) < PER_CHANNEL);
        let soon = last.values().any(|at| now.duration_since(*at) < OVERALL);
        if soon || last.contains_key(channel) || last.len() >= CHANNELS {
            return false;
        }
        last.insert(channel.to_owned(), now);
        true
    }
}

/// A small memory of at most `cap` entries; the one that was put in first goes first.
#[derive(Debug)]
pub struct Recent<K, V> {
    cap: usize,
    order: VecDeque<K>,
    entries: HashMap<K, V>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    /// One that holds nothing yet.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self { cap, order: VecDeque::new(), entries: HashMap::new() }
    }

    /// What is remembered of this.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// Remembers this; whether it is new.
    pub fn put(&mut self, key: K, value: V) -> bool {
        let is_new = self.entries.insert(key.clone(), value).is_none();
        if is_new {
            self.order.push_back(key);
        }
        if self.order.len() > self.cap
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    struct Switch(AtomicBool);

    impl Lead for Switch {
        fn holds(&self) -> bool {
            self.0.load(Relaxed)
        }
    }

    #[test]
    fn a_guard_is_open_until_somebody_leads_and_then_as_long_as_they_do() {
        let guard = SendGuard::default();
        assert!(guard.is_open());
        let switch = Arc::new(Switch(AtomicBool::new(true)));
        guard.follow(switch.clone());
        assert!(guard.is_open());
        switch.0.store(false, Relaxed);
        assert!(!guard.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_notifies_once_a_minute_and_what_is_critical_always() {
        let bell = Bell::default();
        let here = Target("1".into());
        let there = Target("2".into());
        assert!(bell.notifies(&here, Tone::Open) && bell.notifies(&there, Tone::Open));
        assert!(!bell.notifies(&here, Tone::Open));
        assert!(bell.notifies(&here, Tone::Critical));
        let mut notified = 0;
        for _ in 0..30 {
            tokio::time::advance(Duration::from_secs(4)).await;
            notified += usize::from(bell.notifies(&here, Tone::Open));
        }
        assert_eq!(notified, 2, "two minutes of one burst");
        tokio::time::advance(BURST).await;
        assert!(bell.notifies(&here, Tone::Open));
    }

    #[tokio::test]
    async fn a_message_is_drawn_by_one_at_a_time_and_remembers_its_revision() {
        let turns = Turns::default();
        let message = MessageRef("1/2".to_owned());
        let mut turn = turns.wait(&message).await;
        assert!(turns.now(&message).is_none());
        assert!(turns.now(&MessageRef("1/3".to_owned())).is_some());
        *turn = 7;
        drop(turn);
        assert_eq!(turns.now(&message).map(|turn| *turn), Some(7));
    }

    #[tokio::test]
    async fn what_is_remembered_is_bounded_but_a_turn_in_use_stays() {
        let turns = Turns::default();
        let message = MessageRef("held".to_owned());
        let held = turns.wait(&message).await;
        for n in 0..3 * MESSAGES {
            drop(turns.now(&MessageRef(n.to_string())));
        }
        assert!(turns.now(&message).is_none());
        drop(held);
        let known = locked(&turns.0).len();
        assert!(known <= MESSAGES, "{known}");
    }

    #[test]
    fn one_answer_per_channel_and_not_too_many_in_all() {
        let reply_limit = ChannelReplyLimit::default();
        let start = Instant::now();
        let asked = [("1", 0), ("2", 100), ("2", 600), ("1", 2_000), ("1", 5_000), ("2", 5_200)];
        let spoke = asked
            .map(|(channel, ms)| reply_limit.allows(channel, start + Duration::from_millis(ms)));
        assert_eq!(spoke, [true, false, true, false, true, false]);
    }

    #[test]
    fn the_oldest_entry_is_forgotten_first() {
        let mut recent = Recent::new(2);
        for (key, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            recent.put(key, value);
        }
        assert_eq!(
            [recent.get(&"a"), recent.get(&"b"), recent.get(&"c")],
            [None, Some(&2), Some(&4)]
        );
    }
}
