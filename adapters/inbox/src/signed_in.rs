//! Who has signed in: a session for each browser of a person with a name.

use crate::session::{AccessResult, Session};
use axum::http::HeaderMap;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom, SystemRandom};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// How long a sign-in lasts at most. It ends with the daemon, too.
pub(crate) const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How many browsers one person may be signed in with; the oldest makes way.
const BROWSERS: usize = 10;

/// One browser of one person.
pub(crate) struct SignedIn {
    pub(crate) session: Session,
    /// The person's id, as the core knows it.
    pub(crate) person: String,
    /// The passkey with which they signed in, where it was one.
    pub(crate) passkey: Option<String>,
    /// When it began.
    pub(crate) since: Instant,
    /// When it is over.
    pub(crate) until: Instant,
}

/// All of them. They are not stored: a restart ends them, as it ends every key of the page.
#[derive(Default)]
pub(crate) struct SignedInBrowsers {
    all: Mutex<Vec<Arc<SignedIn>>>,
    /// Counts those that ended.
    ended: watch::Sender<u64>,
}

impl SignedInBrowsers {
    /// Begins a session for a person, for this long; `None` without randomness.
    pub(crate) fn begin(
        &self,
        start: &Session,
        person: String,
        (longest, passkey): (Duration, Option<String>),
    ) -> Option<Arc<SignedIn>> {
        let mut secret = [0; 32];
        SystemRandom::new().fill(&mut secret).ok()?;
        let session = start.of_person(&URL_SAFE_NO_PAD.encode(secret));
        let since = Instant::now();
        let until = since + longest.min(LONGEST);
        let new = Arc::new(SignedIn { session, person, passkey, since, until });
        let mut all = self.lock();
        all.push(new.clone());
        let own = all.iter().filter(|it| it.person == new.person).count();
        let mut many = own.saturating_sub(BROWSERS);
        all.retain(|it| {
            let leaves = many > 0 && it.person == new.person;
            many -= usize::from(leaves);
            !leaves
        });
        drop(all);
        self.ended.send_modify(|count| *count += 1);
        Some(new)
    }

    /// The session whose cookie a request carries.
    pub(crate) fn by_cookie(&self, headers: &HeaderMap) -> Option<Arc<SignedIn>> {
        self.find(|it| it.session.cookie_of(headers) == AccessResult::Granted)
    }

    /// The session of this name.
    pub(crate) fn by_id(&self, id: &str) -> Option<Arc<SignedIn>> {
        self.find(|it| it.session.id() == Some(id))
    }

    /// Whether a session lasts.
    pub(crate) fn lasts(&self, one: &Arc<SignedIn>) -> AccessResult {
        AccessResult::from(self.find(|it| Arc::ptr_eq(it, one)).is_some())
    }

    /// Ends a session.
    pub(crate) fn end(&self, one: &Arc<SignedIn>) {
        self.lock().retain(|it| !Arc::ptr_eq(it, one));
        self.ended.send_modify(|count| *count += 1);
    }

    /// Ends the sessions of those who are somebody no more, whether or not they ask for anything.
    pub(crate) fn keep_people(&self, is_somebody: impl Fn(&str) -> bool) {
        self.lock().retain(|it| is_somebody(&it.person));
        self.ended.send_modify(|count| *count += 1);
    }

    /// The passkeys with which somebody is signed in.
    pub(crate) fn passkeys(&self) -> Vec<String> {
        let mut all: Vec<_> = self.lock().iter().filter_map(|it| it.passkey.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Ends the sessions that began with these passkeys.
    pub(crate) fn end_passkeys(&self, gone: &[String]) {
        let mut all = self.lock();
        let before = all.len();
        all.retain(|it| !it.passkey.as_ref().is_some_and(|passkey| gone.contains(passkey)));
        let ended = all.len() < before;
        drop(all);
        if ended {
            self.ended.send_modify(|count| *count += 1);
        }
    }

    /// Tells when a session has ended.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    fn find(&self, fits: impl Fn(&Arc<SignedIn>) -> bool) -> Option<Arc<SignedIn>> {
        let mut all = self.lock();
        let now = Instant::now();
        all.retain(|it| now < it.until);
        all.iter().find(|it| fits(it)).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<SignedIn>>> {
        // Nothing that is done under the lock can panic halfway.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn the_oldest_of_a_persons_browsers_makes_way_and_nobody_elses() {
        let (start, all) = (Session::new("a"), SignedInBrowsers::default());
        let ben = all.begin(&start, "chat:2".to_owned(), (LONGEST, None)).unwrap();
        let ana: Vec<_> = (0..=BROWSERS)
            .map(|_| all.begin(&start, "chat:1".to_owned(), (LONGEST, None)).unwrap())
            .collect();
        let lasts = |one| all.lasts(one) == AccessResult::Granted;
        assert!(lasts(&ben) && !lasts(&ana[0]) && ana[1..].iter().all(lasts));
        all.end(&ben);
        assert!(!lasts(&ben) && all.by_id(ben.session.id().unwrap()).is_none());
    }

    #[test]
    fn a_session_ends_with_the_passkey_that_began_it_and_others_stay() {
        let (start, all) = (Session::new("a"), SignedInBrowsers::default());
        let begin = |passkey: Option<&str>| {
            let passkey = passkey.map(str::to_owned);
            all.begin(&start, "chat:1".to_owned(), (LONGEST, passkey)).unwrap()
        };
        let (one, two, link) = (begin(Some("one")), begin(Some("two")), begin(None));
        assert_eq!(all.passkeys(), ["one", "two"]);
        let ended = all.follow();
        all.end_passkeys(&["three".to_owned()]);
        assert!(!ended.has_changed().unwrap());
        all.end_passkeys(&["one".to_owned()]);
        assert!(ended.has_changed().unwrap());
        let lasts = |one| all.lasts(one) == AccessResult::Granted;
        assert!(!lasts(&one) && lasts(&two) && lasts(&link));
    }

    #[test]
    fn a_session_ends_by_itself() {
        let (start, all) = (Session::new("a"), SignedInBrowsers::default());
        let session = start.of_person("1");
        let now = Instant::now();
        let (person, passkey) = ("chat:1".into(), None);
        let old = Arc::new(SignedIn { session, person, passkey, since: now, until: now });
        all.lock().push(old.clone());
        assert!(all.by_id(old.session.id().unwrap()).is_none());
    }
}
