//! How much waits for people, for which agent, and how fast it comes. What would be too much is
//! refused, before it is stored.
//!
//! What is counted here is a shadow of the store's rows: it is counted anew from them every half
//! minute, after news from other daemons, and before anybody is refused. How many asks a minute each
//! agent and each session may open is counted by this daemon alone, since its start: it bounds what
//! people are sent, and holds no state that a restart could lose to an agent's harm.

use super::{SubmitError, call::Call};
use countersign_domain::Body;
use countersign_port::locked;
use countersign_store::{Store, StoreError};
use std::{collections::HashMap, hash::Hash, io, sync::Mutex, time::Duration};
use tokio::time::Instant;

/// How long a count is good enough to let something in.
const GOOD: Duration = Duration::from_secs(30);
/// How long it is good enough to refuse something.
const FRESH: Duration = Duration::from_secs(1);
/// When to try again where people have to answer first.
const LATER: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_secs(60);
/// So many keys are kept before those at rest are forgotten.
const MANY: usize = 1_024;

/// How much may be open at once, and how fast it may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Asks, in all.
    pub asks: u64,
    /// Asks of one agent.
    pub asks_per_agent: u64,
    /// Asks of one session.
    pub asks_per_session: u64,
    /// New asks of one agent in a minute.
    pub asks_a_minute_per_agent: u64,
    /// New asks of one session in a minute.
    pub asks_a_minute_per_session: u64,
    /// Bytes of asks, in all.
    pub bytes: u64,
    /// Bytes of asks of one agent.
    pub bytes_per_agent: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            asks: 50_000,
            asks_per_agent: 10_000,
            asks_per_session: 1_000,
            asks_a_minute_per_agent: 1_200,
            asks_a_minute_per_session: 300,
            bytes: 64 << 20,
            bytes_per_agent: 16 << 20,
        }
    }
}

/// Why an ask is not taken now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct TooMuch {
    /// Which limit it would break, in a sentence for its caller.
    pub why: String,
    /// When to try again.
    pub after: Duration,
}

/// Agent and session.
type SessionName = (String, String);

#[derive(Debug, Default)]
pub(super) struct Load(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// When the store was asked last; `None`: it has to be asked.
    at: Option<Instant>,
    all: Amount,
    agents: HashMap<String, Amount>,
    /// Asks.
    sessions: HashMap<SessionName, u64>,
    agent_rates: Rates<String>,
    session_rates: Rates<SessionName>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    asks: u64,
    bytes: u64,
}

/// Room for an ask, given back when this is dropped before the ask is stored.
#[derive(Debug)]
pub(super) struct Reservation<'l> {
    load: &'l Load,
    session: SessionName,
    /// With the limits that it was taken under; `None` where there is nothing to give back.
    taken: Option<(u64, Limits)>,
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
    ) -> Result<Reservation<'_>, SubmitError> {
        if !self.is_counted_within(GOOD) {
            self.count_open(store).await?;
        }
        let session = (call.agent.clone(), call.session.clone());
        let too_much = match self.take(limits, &session, bytes) {
            Ok(room) => return Ok(room),
            Err(too_much) => too_much,
        };
        if let Some(key) = &call.key
            && store.knows_key(&call.agent, &call.session, key).await?
        {
            // It is open already, or was; its caller only comes back.
            return Ok(Reservation { load: self, session, taken: None });
        }
        if self.is_counted_within(FRESH) {
            return Err(too_much.into());
        }
        self.count_open(store).await?;
        Ok(self.take(limits, &session, bytes)?)
    }

    async fn count_open(&self, store: &Store) -> Result<(), StoreError> {
        let (mut all, mut agents) = (Amount::default(), HashMap::<_, Amount>::new());
        let mut sessions = HashMap::new();
        for open in store.open_by_session().await? {
            for amount in [&mut all, agents.entry(open.agent.clone()).or_default()] {
                amount.asks += open.asks;
                amount.bytes += open.bytes;
            }
            sessions.insert((open.agent, open.session), open.asks);
        }
        let mut counted = locked(&self.0);
        counted.at = Some(Instant::now());
        (counted.all, counted.agents, counted.sessions) = (all, agents, sessions);
        Ok(())
    }

    /// Something changed that is not counted here.
    pub(super) fn is_outdated(&self) {
        locked(&self.0).at = None;
    }

    /// An ask of this size is no longer open.
    pub(super) fn less(&self, call: &Call, bytes: u64) {
        let session = (call.agent.clone(), call.session.clone());
        locked(&self.0).less(&session, bytes);
    }

    fn is_counted_within(&self, time: Duration) -> bool {
        locked(&self.0).at.is_some_and(|at| at.elapsed() < time)
    }

    fn take(
        &self,
        limits: &Limits,
        session: &SessionName,
        bytes: u64,
    ) -> Result<Reservation<'_>, TooMuch> {
        let mut counted = locked(&self.0);
        counted.check(limits, session, bytes)?;
        counted.change(&session.0, |amount| {
            amount.asks += 1;
            amount.bytes += bytes;
        });
        *counted.sessions.entry(session.clone()).or_default() += 1;
        counted.agent_rates.count(session.0.clone(), limits.asks_a_minute_per_agent);
        counted.session_rates.count(session.clone(), limits.asks_a_minute_per_session);
        Ok(Reservation { load: self, session: session.clone(), taken: Some((bytes, *limits)) })
    }
}

impl Counted {
    /// Whether one more ask of this session fits in.
    fn check(&self, limits: &Limits, session: &SessionName, bytes: u64) -> Result<(), TooMuch> {
        let mine = self.agents.get(&session.0).copied().unwrap_or_default();
        let here = self.sessions.get(session).copied().unwrap_or_default();
        if let Some(why) = too_much(limits, [self.all, mine], here, session, bytes) {
            return Err(TooMuch { why, after: LATER });
        }
        let name = countersign_port::line(&session.0);
        let agent = limits.asks_a_minute_per_agent;
        let one = limits.asks_a_minute_per_session;
        let too_fast = |who, key, limit| {
            let why = format!(
                "{who} asks more than {limit} times a minute ([limits] {key} = {limit}), so this \
                 call was not put before anybody; try again in a moment, with fewer calls at once"
            );
            move |after| TooMuch { why, after }
        };
        let whole = (format!("`{name}`"), "asks_per_minute_per_agent", agent);
        let part = (format!("a session of `{name}`"), "asks_per_minute_per_session", one);
        self.agent_rates.fits(&session.0, agent).map_err(too_fast(whole.0, whole.1, whole.2))?;
        self.session_rates.fits(session, one).map_err(too_fast(part.0, part.1, part.2))
    }

    fn less(&mut self, session: &SessionName, bytes: u64) {
        self.change(&session.0, |amount| {
            amount.asks = amount.asks.saturating_sub(1);
            amount.bytes = amount.bytes.saturating_sub(bytes);
        });
        if let Some(asks) = self.sessions.get_mut(session) {
            *asks = asks.saturating_sub(1);
        }
        if self.sessions.get(session) == Some(&0) {
            self.sessions.remove(session);
        }
    }

    fn change(&mut self, agent: &str, change: impl Fn(&mut Amount)) {
        change(&mut self.all);
        let amount = self.agents.entry(agent.to_owned()).or_default();
        change(amount);
        if *amount == Amount::default() {
            self.agents.remove(agent);
        }
    }
}

impl Reservation<'_> {
    /// The ask is stored.
    pub(super) fn fill(mut self) {
        self.taken = None;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let Some((bytes, limits)) = self.taken else { return };
        let mut counted = locked(&self.load.0);
        counted.less(&self.session, bytes);
        counted.agent_rates.give_back(&self.session.0, limits.asks_a_minute_per_agent);
        counted.session_rates.give_back(&self.session, limits.asks_a_minute_per_session);
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
fn too_much(
    limits: &Limits,
    [all, mine]: [Amount; 2],
    here: u64,
    (agent, _): &SessionName,
    bytes: u64,
) -> Option<String> {
    const THEN: &str = "try again when some of them are answered, or cancel some";
    let megabytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let more = bytes + mine.bytes;
    let name = countersign_port::line(agent);
    if mine.asks >= limits.asks_per_agent {
        return Some(format!(
            "`{name}` has {} asks open, and one agent may have no more ([limits] \
             open_asks_per_agent = {}); {THEN}",
            mine.asks, limits.asks_per_agent
        ));
    }
    if here >= limits.asks_per_session {
        return Some(format!(
            "this session of `{name}` has {here} asks open, and one may have no more ([limits] \
             open_asks_per_session = {}); {THEN}",
            limits.asks_per_session
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
            "{} asks are open here, which is the limit ([limits] open_asks = {}); {THEN}",
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

/// The rates of everybody with this kind of name. A minute's asks may come at once; from then on
/// one more is free with every minute's share of time.
#[derive(Debug, Default)]
struct Rates<K>(HashMap<K, Instant>);

impl<K: Hash + Eq> Rates<K> {
    /// Whether one more fits in now.
    ///
    /// # Errors
    /// How long it takes until one does.
    pub(super) fn fits(&self, key: &K, a_minute: u64) -> Result<(), Duration> {
        let Some(full_until) = self.0.get(key) else { return Ok(()) };
        let used = full_until.saturating_duration_since(Instant::now()) + share(a_minute);
        // Division rounds down, so a whole minute's asks are always within it.
        if used <= MINUTE { Ok(()) } else { Err(used - MINUTE) }
    }

    /// Counts one more.
    pub(super) fn count(&mut self, key: K, a_minute: u64) {
        let now = Instant::now();
        if self.0.len() >= MANY {
            self.0.retain(|_, full_until| *full_until > now);
        }
        let full_until = self.0.entry(key).or_insert(now);
        *full_until = (*full_until).max(now) + share(a_minute);
    }

    /// Gives one back that came to nothing.
    fn give_back(&mut self, key: &K, a_minute: u64) {
        if let Some(full_until) = self.0.get_mut(key) {
            *full_until = full_until.checked_sub(share(a_minute)).unwrap_or(*full_until);
        }
    }
}

/// What one ask takes of a minute.
fn share(a_minute: u64) -> Duration {
    MINUTE / u32::try_from(a_minute.max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
