//! How much waits for people, and for which agent. What would be too much is refused, before it is
//! stored.
//!
//! What is counted here is a shadow of the store's rows: it is counted anew from them every half
//! minute, after news from other daemons, and before anybody is refused.

use super::{SubmitError, call::Call};
use crate::{
    ask::Body,
    store::{Store, StoreError},
};
use std::{
    collections::HashMap,
    io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long a count is good enough to let something in.
const GOOD: Duration = Duration::from_secs(30);
/// How long it is good enough to refuse something.
const FRESH: Duration = Duration::from_secs(1);

/// How much may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Asks, in all.
    pub asks: u64,
    /// Asks of one agent.
    pub asks_per_agent: u64,
    /// Bytes of asks, in all.
    pub bytes: u64,
    /// Bytes of asks of one agent.
    pub bytes_per_agent: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let (asks, asks_per_agent) = (50_000, 10_000);
        Self { asks, asks_per_agent, bytes: 64 << 20, bytes_per_agent: 16 << 20 }
    }
}

#[derive(Debug, Default)]
pub(super) struct Load(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// When the store was asked last; `None`: it has to be asked.
    at: Option<Instant>,
    all: Amount,
    agents: HashMap<String, Amount>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    asks: u64,
    bytes: u64,
}

/// Room for an ask, given back when this is dropped before the ask is stored.
#[derive(Debug)]
pub(super) struct Room<'l> {
    load: &'l Load,
    agent: String,
    bytes: Option<u64>,
}

impl Load {
    /// Takes room for an ask of this agent.
    ///
    /// # Errors
    /// [`SubmitError::TooMuch`] with the limit that it would break.
    pub(super) async fn make_room(
        &self,
        store: &Store,
        limits: &Limits,
        call: &Call,
        bytes: u64,
    ) -> Result<Room<'_>, SubmitError> {
        if !self.is_counted_within(GOOD) {
            self.count_open(store).await?;
        }
        let why = match self.take(limits, &call.agent, bytes) {
            Ok(room) => return Ok(room),
            Err(why) => why,
        };
        if let Some(key) = &call.key
            && store.knows_key(&call.agent, &call.session, key).await?
        {
            // It is open already, or was; its caller only comes back.
            return Ok(Room { load: self, agent: call.agent.clone(), bytes: None });
        }
        if self.is_counted_within(FRESH) {
            return Err(SubmitError::TooMuch(why));
        }
        self.count_open(store).await?;
        self.take(limits, &call.agent, bytes).map_err(SubmitError::TooMuch)
    }

    async fn count_open(&self, store: &Store) -> Result<(), StoreError> {
        let mut counted = Counted { at: Some(Instant::now()), ..Counted::default() };
        for (agent, asks, bytes) in store.open_by_agent().await? {
            counted.all.asks += asks;
            counted.all.bytes += bytes;
            counted.agents.insert(agent, Amount { asks, bytes });
        }
        *self.lock() = counted;
        Ok(())
    }

    /// Something changed that is not counted here.
    pub(super) fn is_outdated(&self) {
        self.lock().at = None;
    }

    /// An ask of this agent is no longer open.
    pub(super) fn less(&self, agent: &str, bytes: u64) {
        self.lock().change(agent, |amount| {
            amount.asks = amount.asks.saturating_sub(1);
            amount.bytes = amount.bytes.saturating_sub(bytes);
        });
    }

    fn is_counted_within(&self, time: Duration) -> bool {
        self.lock().at.is_some_and(|at| at.elapsed() < time)
    }

    fn take(&self, limits: &Limits, agent: &str, bytes: u64) -> Result<Room<'_>, String> {
        let mut counted = self.lock();
        let mine = counted.agents.get(agent).copied().unwrap_or_default();
        if let Some(why) = too_much(limits, counted.all, mine, agent, bytes) {
            return Err(why);
        }
        counted.change(agent, |amount| {
            amount.asks += 1;
            amount.bytes += bytes;
        });
        Ok(Room { load: self, agent: agent.to_owned(), bytes: Some(bytes) })
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        // Nothing that is done under the lock can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn change(&mut self, agent: &str, change: impl Fn(&mut Amount)) {
        change(&mut self.all);
        let amount = self.agents.entry(agent.to_owned()).or_default();
        change(amount);
        if *amount == Amount::default() {
            self.agents.remove(agent);
        }
    }
}

impl Room<'_> {
    /// The ask is stored.
    pub(super) fn fill(mut self) {
        self.bytes = None;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        if let Some(bytes) = self.bytes {
            self.load.less(&self.agent, bytes);
        }
    }
}

/// How large an ask's body is in the store.
pub(super) fn size(body: &Body) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Texts, lists and maps with texts as keys are always written.
    let _ = serde_json::to_writer(&mut count, body);
    count.0
}

/// Which limit one more ask would break, in a sentence for its caller.
fn too_much(limits: &Limits, all: Amount, mine: Amount, agent: &str, bytes: u64) -> Option<String> {
    const THEN: &str = "try again when some of them are answered, or take some back";
    let megabytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let (more, name) = (bytes + mine.bytes, crate::text::line(agent));
    if mine.asks >= limits.asks_per_agent {
        return Some(format!(
            "`{name}` has {} asks open, and one agent may have no more ([limits] \
             open_asks_per_agent = {}); {THEN}",
            mine.asks, limits.asks_per_agent
        ));
    }
    if more > limits.bytes_per_agent {
        return Some(format!(
            "`{name}` would have {} of asks open, and one agent may have {} ([limits] \
             open_megabytes_per_agent); {THEN}",
            megabytes(more),
            megabytes(limits.bytes_per_agent)
        ));
    }
    if all.asks >= limits.asks {
        return Some(format!(
            "{} asks are open here, and no more are taken ([limits] open_asks = {}); {THEN}",
            all.asks, limits.asks
        ));
    }
    (bytes + all.bytes > limits.bytes).then(|| {
        format!(
            "{} of asks would be open here, and {} may be ([limits] open_megabytes); {THEN}",
            megabytes(bytes + all.bytes),
            megabytes(limits.bytes)
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const LIMITS: Limits = Limits { asks: 4, asks_per_agent: 2, bytes: 100, bytes_per_agent: 60 };

    #[test]
    fn every_limit_is_named_by_its_key() {
        let amount = |asks, bytes| Amount { asks, bytes };
        let why = |all, mine, bytes| too_much(&LIMITS, all, mine, "a\u{202e}b", bytes).unwrap();
        for (why, key) in [
            (why(amount(2, 2), amount(2, 2), 1), "open_asks_per_agent = 2"),
            (why(amount(1, 60), amount(1, 60), 1), "open_megabytes_per_agent)"),
            (why(amount(4, 4), amount(0, 0), 1), "open_asks = 4"),
            (why(amount(3, 90), amount(1, 1), 11), "open_megabytes)"),
        ] {
            assert!(why.contains(key) && !why.contains('\u{202e}'), "{why}");
        }
        assert_eq!(too_much(&LIMITS, amount(3, 90), amount(1, 50), "a", 10), None);
    }

    #[test]
    fn room_that_was_not_filled_is_given_back() {
        let load = Load::default();
        load.take(&LIMITS, "a", 60).unwrap().fill();
        assert!(load.take(&LIMITS, "a", 1).is_err());
        drop(load.take(&LIMITS, "b", 40).unwrap());
        let room = load.take(&LIMITS, "b", 40).unwrap();
        assert!(load.take(&LIMITS, "c", 1).is_err());
        drop(room);
        load.less("a", 60);
        let counted = load.lock();
        assert_eq!((counted.all, counted.agents.len()), (Amount::default(), 0));
    }
}
