//! Ceremonies that have begun and are not finished. Pure; time is an argument.

use crate::{
    begun::{Begun, random},
    session::same,
};
use std::time::{Duration, Instant};

/// How long somebody has at their authenticator.
pub(super) const LIFE: Duration = Duration::from_secs(5 * 60);
/// The ceremonies that are open.
pub(super) struct Ceremonies(Begun<Ceremony>);

/// One ceremony.
#[derive(Clone)]
pub(super) struct Ceremony {
    /// What the authenticator signs.
    pub(super) challenge: String,
    /// Known to the page that began, and to no other.
    pub(super) browser: String,
    pub(super) purpose: CeremonyPurpose,
}

/// What a ceremony is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CeremonyPurpose {
    /// Somebody signs in, who is not known yet.
    SignIn,
    /// The person of this session adds a passkey.
    Add {
        /// The name of the session.
        session: String,
        /// What the authenticator is to know them by.
        handle: String,
    },
}

impl CeremonyPurpose {
    fn session(&self) -> Option<&str> {
        match self {
            Self::SignIn => None,
            Self::Add { session, .. } => Some(session),
        }
    }
}

impl Default for Ceremonies {
    fn default() -> Self {
        Self(Begun::new(LIFE))
    }
}

impl Ceremonies {
    /// Begins a ceremony; `None` without randomness. A session has one at a time.
    pub(super) fn begin(&mut self, purpose: CeremonyPurpose, now: Instant) -> Option<Ceremony> {
        let (challenge, browser) = (random()?, random()?);
        let own = purpose.session();
        self.0.keep(|it| own.is_none() || it.purpose.session() != own);
        Some(self.0.begin(Ceremony { challenge, browser, purpose }, now))
    }

    /// Takes the ceremony that this browser began. It is used up in any case.
    pub(super) fn take(&mut self, browser: &str, now: Instant) -> Option<Ceremony> {
        self.0.take(|it| same(&it.browser, browser), now)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::begun::MOST;

    fn add(session: &str) -> CeremonyPurpose {
        CeremonyPurpose::Add { session: session.to_owned(), handle: "h".to_owned() }
    }

    #[test]
    fn a_ceremony_is_finished_once_and_only_by_the_browser_that_began_it() {
        let (mut all, now) = (Ceremonies::default(), Instant::now());
        let one = all.begin(CeremonyPurpose::SignIn, now).unwrap();
        let other = all.begin(CeremonyPurpose::SignIn, now).unwrap();
        assert!(one.challenge != other.challenge && one.browser != other.browser);
        assert!(all.take("", now).is_none() && all.take(&one.challenge, now).is_none());
        assert_eq!(all.take(&one.browser, now).unwrap().challenge, one.challenge);
        assert!(all.take(&one.browser, now).is_none(), "a second time");
        assert!(all.take(&other.browser, now + LIFE).is_none(), "too late");
        assert!(all.take(&other.browser, now).is_none(), "it was used up");
    }

    #[test]
    fn a_session_adds_one_passkey_at_a_time_and_the_oldest_of_too_many_makes_way() {
        let (mut all, now) = (Ceremonies::default(), Instant::now());
        let (first, bens) = (all.begin(add("a"), now).unwrap(), all.begin(add("b"), now).unwrap());
        let second = all.begin(add("a"), now).unwrap();
        assert!(all.take(&first.browser, now).is_none());
        assert_eq!(all.take(&second.browser, now).unwrap().purpose, add("a"));
        assert!(all.take(&bens.browser, now).is_some());
        let oldest = all.begin(CeremonyPurpose::SignIn, now).unwrap();
        for _ in 0..MOST {
            all.begin(CeremonyPurpose::SignIn, now).unwrap();
        }
        assert_eq!(all.0.len(), MOST);
        assert!(all.take(&oldest.browser, now).is_none());
    }
}
