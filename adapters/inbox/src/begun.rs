//! What has begun and is not finished: sign-ins at the identity provider, and what somebody does at
//! their authenticator. Pure but for randomness; time is an argument.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use std::time::{Duration, Instant};

/// How many may be open at once; the oldest makes way.
pub(crate) const MOST: usize = 1_000;

/// What is open. It is not stored: a restart ends it.
pub(crate) struct Begun<T> {
    life: Duration,
    open: Vec<(Instant, T)>,
}

impl<T: Clone> Begun<T> {
    /// Nothing yet; what begins has this long to be finished.
    pub(crate) fn new(life: Duration) -> Self {
        Self { life, open: Vec::new() }
    }

    /// Notes what has just begun.
    pub(crate) fn begin(&mut self, begun: T, now: Instant) -> T {
        self.open.retain(|(until, _)| now < *until);
        let many = (self.open.len() + 1).saturating_sub(MOST);
        self.open.drain(..many);
        self.open.push((now + self.life, begun.clone()));
        begun
    }

    /// Ends all but these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(&T) -> bool) {
        self.open.retain(|(_, begun)| is_kept(begun));
    }

    /// Takes this one, unless its time is over. It is used up in any case.
    // INVARIANT: what comes back is looked at once.
    pub(crate) fn take(&mut self, is_this: impl Fn(&T) -> bool, now: Instant) -> Option<T> {
        let at = self.open.iter().position(|(_, begun)| is_this(begun))?;
        let (until, taken) = self.open.swap_remove(at);
        (now < until).then_some(taken)
    }

    /// How many are open.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }
}

/// 256 random bits; `None` without randomness.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(URL_SAFE_NO_PAD.encode(bytes))
}
