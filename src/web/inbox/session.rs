//! Who may open the inbox: secrets worked out from its access token.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_port::locked;
use countersign_tokens::clock;
use countersign_tokens::file;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// The length of a sign-in's name; 96 bits.
const ID: usize = 16;

/// The secrets of one browser's way in: of everybody with the access token, or of one sign-in. The
/// access token is made anew at every start of the daemon before which another program may have had
/// its port, so nothing that a page holds or has sent is worth anything to one.
///
/// SECURITY: a browser sends a cookie to every port of a host, so a server that an agent starts on
/// `127.0.0.1:3000` gets it as soon as the person looks there. The cookie therefore opens only the
/// empty page. Cards and presses need proofs made with the key too (`proof`), which the page keeps
/// to itself.
pub(crate) struct Session {
    access_token: String,
    cookie_name: String,
    cookie: String,
    key: String,
}

impl Session {
    pub(crate) fn new(access_token: &str) -> Self {
        Self {
            access_token: access_token.to_owned(),
            // Two daemons on one host do not overwrite each other's cookie.
            cookie_name: format!("countersign-{:.8}", derive("name", access_token)),
            cookie: derive("cookie", access_token),
            key: derive("key", access_token),
        }
    }

    /// The session of somebody who has signed in, with a secret of its own.
    pub(crate) fn of_person(&self, secret: &str) -> Self {
        let id: String = derive("id", secret).chars().take(ID).collect();
        Self {
            access_token: secret.to_owned(),
            // Signing in again in one browser ends what it had before.
            cookie_name: format!("{}-person", self.cookie_name),
            cookie: derive("cookie", secret),
            key: format!("{id}.{}", derive("key", secret)),
        }
    }

    /// The name of a sign-in, which its page says with every hello; it opens nothing.
    pub(crate) fn id(&self) -> Option<&str> {
        self.key.split_once('.').map(|(id, _)| id)
    }

    /// Whether this is the access token.
    pub(crate) fn admits(&self, token: &str) -> AccessResult {
        AccessResult::from(!self.access_token.is_empty() && same(&self.access_token, token))
    }

    /// Whether a request carries the cookie.
    pub(crate) fn cookie_of(&self, headers: &HeaderMap) -> AccessResult {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|c| c.split_once('='));
        AccessResult::from(
            !self.access_token.is_empty()
                && pairs.any(|(name, value)| {
                    name.trim() == self.cookie_name && same(&self.cookie, value.trim())
                }),
        )
    }

    /// The key that proofs are made with; `None` where nobody may come in.
    pub(crate) fn key(&self) -> Option<&str> {
        (!self.access_token.is_empty()).then_some(&self.key)
    }

    /// A name that only these files of the pages at this start of the daemon have. Under it they have
    /// addresses that nobody else could have filled the browser's cache with, and are kept there.
    pub(crate) fn start(&self) -> String {
        derive(concat!("start ", env!("INBOX_FILES")), &self.access_token)
            .chars()
            .take(16)
            .collect()
    }

    /// The `Set-Cookie` of somebody who has shown the access token, with further attributes.
    pub(crate) fn set_cookie(&self, attributes: &str) -> Option<HeaderValue> {
        let Self { cookie_name, cookie, .. } = self;
        let line = format!("{cookie_name}={cookie}; Path=/; HttpOnly; SameSite=Strict{attributes}");
        HeaderValue::try_from(line).ok()
    }

    /// Where somebody who has shown the access token goes on. Browsers never send a fragment.
    pub(crate) fn entrance(&self) -> String {
        format!("/?open={}#key={}", self.start(), self.key)
    }

    /// A `Set-Cookie` that takes the cookie away.
    pub(crate) fn clear_cookie(&self) -> Option<HeaderValue> {
        let line = format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", self.cookie_name);
        HeaderValue::try_from(line).ok()
    }
}

/// The answer of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum AccessResult {
    /// The right secret.
    Granted,
    /// A wrong one, or none.
    Refused,
}

impl AccessResult {
    pub(crate) fn from(right: bool) -> Self {
        if right { Self::Granted } else { Self::Refused }
    }
}

fn derive(purpose: &str, access_token: &str) -> String {
    let hash = Sha256::new()
        .chain_update("countersign inbox ")
        .chain_update(purpose)
        .chain_update([0])
        .chain_update(access_token)
        .finalize();
    URL_SAFE_NO_PAD.encode(hash)
}

/// Replaces a file of the inbox in one step; only this user can read it.
pub(crate) fn write(file: &Path, content: &impl Serialize) -> io::Result<()> {
    file::replace(file, serde_json::to_vec(content)?)
}

pub(crate) fn same(secret: &str, given: &str) -> bool {
    secret.as_bytes().ct_eq(given.as_bytes()).into()
}

// Who has signed in: a session for each browser of a person with a name.

/// How long a sign-in lasts at most.
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

/// All of them.
#[derive(Default)]
pub(crate) struct SignedInBrowsers {
    all: Mutex<Vec<Arc<SignedIn>>>,
    /// Where they are kept for the next start, if they may outlive this one.
    file: Option<PathBuf>,
    /// Counts those that ended.
    ended: watch::Sender<u64>,
}

/// A sign-in in the file; times are Unix milliseconds.
#[derive(Serialize, Deserialize)]
struct KeptSignIn {
    secret: String,
    person: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    passkey: Option<String>,
    since: i64,
    until: i64,
}

impl KeptSignIn {
    fn of(signed_in: &SignedIn) -> Self {
        let SignedIn { session, person, passkey, since, until } = signed_in;
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Self {
            secret: session.access_token.clone(),
            person: person.clone(),
            passkey: passkey.clone(),
            since: clock::machine_ms().saturating_sub(ms(since.elapsed())),
            until: clock::machine_ms()
                .saturating_add(ms(until.saturating_duration_since(Instant::now()))),
        }
    }

    /// The sign-in as it goes on; `None` where it is over, or the clock has gone back since.
    // FAIL-CLOSED: what began longest ago may do least.
    fn goes_on(self, start: &Session) -> Option<Arc<SignedIn>> {
        let Self { secret, person, passkey, since, until } = self;
        let time = |ms: i64| u64::try_from(ms).ok().map(Duration::from_millis);
        let age = time(clock::machine_ms().saturating_sub(since))?;
        let left = time(until.saturating_sub(clock::machine_ms()))?.min(LONGEST.checked_sub(age)?);
        let since = Instant::now().checked_sub(age)?;
        let until = Instant::now() + left;
        let session = start.of_person(&secret);
        Some(Arc::new(SignedIn { session, person, passkey, since, until }))
    }
}

impl SignedInBrowsers {
    /// Those of an earlier start, where this file holds some, to be kept there from now on.
    pub(crate) fn kept_in(file: PathBuf, start: &Session) -> Self {
        let kept = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let kept: Vec<KeptSignIn> = kept.unwrap_or_default();
        let all = kept.into_iter().filter_map(|kept| kept.goes_on(start)).collect();
        Self { all: Mutex::new(all), file: Some(file), ended: watch::Sender::default() }
    }

    /// Tells of a change, and writes it down.
    // FAIL-CLOSED: no sign-in that ended comes back because it could not be written.
    fn changed(&self, all: &[Arc<SignedIn>]) {
        self.ended.send_modify(|count| *count += 1);
        let Some(file) = &self.file else { return };
        let kept: Vec<_> = all.iter().map(|one| KeptSignIn::of(one)).collect();
        if let Err(error) = write(file, &kept) {
            tracing::error!(%error, "the sign-ins of the inbox cannot be written; a restart ends them");
            let _ = fs::remove_file(file);
        }
    }

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
        let mut all = locked(&self.all);
        all.push(new.clone());
        let own = all.iter().filter(|it| it.person == new.person).count();
        let mut many = own.saturating_sub(BROWSERS);
        all.retain(|it| {
            let leaves = many > 0 && it.person == new.person;
            many -= usize::from(leaves);
            !leaves
        });
        self.changed(&all);
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
        let mut all = locked(&self.all);
        all.retain(|it| !Arc::ptr_eq(it, one));
        self.changed(&all);
    }

    /// Ends the sessions of those who are somebody no more, whether or not they ask for anything.
    pub(crate) fn keep_people(&self, is_somebody: impl Fn(&str) -> bool) {
        let mut all = locked(&self.all);
        all.retain(|it| is_somebody(&it.person));
        self.changed(&all);
    }

    /// The passkeys with which somebody is signed in.
    pub(crate) fn passkeys(&self) -> Vec<String> {
        let mut all: Vec<_> =
            locked(&self.all).iter().filter_map(|it| it.passkey.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Ends the sessions that began with these passkeys.
    pub(crate) fn end_passkeys(&self, gone: &[String]) {
        let mut all = locked(&self.all);
        let before = all.len();
        all.retain(|it| !it.passkey.as_ref().is_some_and(|passkey| gone.contains(passkey)));
        if all.len() < before {
            self.changed(&all);
        }
    }

    /// Tells when a session has ended.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    fn find(&self, fits: impl Fn(&Arc<SignedIn>) -> bool) -> Option<Arc<SignedIn>> {
        let mut all = locked(&self.all);
        let now = Instant::now();
        all.retain(|it| now < it.until);
        all.iter().find(|it| fits(it)).cloned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::try_from(value).unwrap())])
    }

    #[test]
    fn an_empty_access_token_admits_nobody() {
        let session = Session::new("");
        assert_eq!(session.admits(""), AccessResult::Refused);
        let cookie = format!("{}={}", session.cookie_name, session.cookie);
        assert_eq!(session.cookie_of(&headers(header::COOKIE, &cookie)), AccessResult::Refused);
        assert_eq!(session.key(), None);
    }

    #[test]
    fn the_same_token_makes_the_same_session_and_another_token_another() {
        let one = Session::new("a");
        let again = Session::new("a");
        let other = Session::new("b");
        assert_eq!((&one.cookie, &one.key), (&again.cookie, &again.key));
        assert_ne!(one.cookie, other.cookie);
        assert_ne!(one.cookie_name, other.cookie_name);
        assert_ne!(one.key, one.cookie);
        assert_ne!(one.key, one.access_token);
        assert!(!one.key.contains(&one.start()), "what addresses show is no part of the key");
    }

    #[test]
    fn a_sign_in_shares_no_secret_with_the_start_or_with_another() {
        let start = Session::new("a");
        let one = start.of_person("1");
        let other = start.of_person("2");
        assert!(start.id().is_none() && one.id() != other.id());
        assert_eq!(one.id().map(str::len), Some(ID));
        assert_eq!(one.cookie_name, other.cookie_name);
        assert_ne!(one.cookie_name, start.cookie_name);
        for (a, b) in [(&one, &other), (&one, &start)] {
            assert!(a.key != b.key && a.cookie != b.cookie);
            let line = format!("{}={}", b.cookie_name, b.cookie);
            assert_eq!(a.cookie_of(&headers(header::COOKIE, &line)), AccessResult::Refused);
        }
    }

    #[test]
    fn the_cookie_is_found_among_others_and_needs_its_whole_value() {
        let session = Session::new("a");
        let name = &session.cookie_name;
        let value = &session.cookie;
        let cases = [
            (format!("{name}={value}"), AccessResult::Granted),
            (format!("theme=dark; {name}={value}; x=y"), AccessResult::Granted),
            (format!("{name}={value}x"), AccessResult::Refused),
            (format!("{name}="), AccessResult::Refused),
            (format!("x{name}={value}"), AccessResult::Refused),
            (String::new(), AccessResult::Refused),
        ];
        for (line, access) in cases {
            assert_eq!(session.cookie_of(&headers(header::COOKIE, &line)), access, "{line}");
        }
    }

    #[test]
    fn the_oldest_of_a_persons_browsers_makes_way_and_nobody_elses() {
        let start = Session::new("a");
        let all = SignedInBrowsers::default();
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
        let start = Session::new("a");
        let all = SignedInBrowsers::default();
        let begin = |passkey: Option<&str>| {
            let passkey = passkey.map(str::to_owned);
            all.begin(&start, "chat:1".to_owned(), (LONGEST, passkey)).unwrap()
        };
        let one = begin(Some("one"));
        let two = begin(Some("two"));
        let link = begin(None);
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
    fn a_sign_in_goes_on_from_its_file_for_what_is_left_of_it_and_one_that_ended_does_not() {
        let start = Session::new("a");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("inbox.sign-ins");
        let before = SignedInBrowsers::kept_in(file.clone(), &start);
        let begin = |person: &str, longest, passkey: Option<&str>| {
            let passkey = passkey.map(str::to_owned);
            before.begin(&start, person.to_owned(), (longest, passkey)).unwrap()
        };
        let ana = begin("chat:1", LONGEST, Some("one"));
        let ben = begin("chat:2", LONGEST, None);
        begin("chat:3", Duration::ZERO, None);
        before.end(&ben);
        let after = SignedInBrowsers::kept_in(file.clone(), &start);
        let all: Vec<_> =
            locked(&after.all).iter().map(|it| (it.person.clone(), it.passkey.clone())).collect();
        assert!(all.contains(&("chat:1".to_owned(), Some("one".to_owned()))), "{all:?}");
        assert!(after.by_id(ben.session.id().unwrap()).is_none(), "it had ended");
        let again = after.by_id(ana.session.id().unwrap()).unwrap();
        assert_eq!(
            (again.session.key(), &again.session.cookie),
            (ana.session.key(), &ana.session.cookie)
        );
        assert!(again.until <= ana.until + Duration::from_secs(1) && again.since <= Instant::now());
        assert_eq!(after.find(|it| it.person == "chat:3").map(|it| it.person.clone()), None);
    }

    #[test]
    fn what_is_kept_of_a_sign_in_that_is_over_or_of_another_clock_lets_nobody_in() {
        let start = Session::new("a");
        let goes_on = |since: i64, until: i64| {
            let kept = KeptSignIn {
                secret: "s".to_owned(),
                person: "chat:1".to_owned(),
                passkey: None,
                since: clock::machine_ms() + since * 1000,
                until: clock::machine_ms() + until * 1000,
            };
            kept.goes_on(&start).is_some()
        };
        assert!(goes_on(-1, 60));
        assert!(!goes_on(-60, -1), "over");
        assert!(!goes_on(60, 120), "it has not begun: the clock has gone back");
        assert!(!goes_on(-8 * 24 * 3600, 60), "older than any may be");
    }

    #[test]
    fn a_session_ends_by_itself() {
        let start = Session::new("a");
        let all = SignedInBrowsers::default();
        let session = start.of_person("1");
        let now = Instant::now();
        let person = "chat:1".into();
        let old = Arc::new(SignedIn { session, person, passkey: None, since: now, until: now });
        locked(&all.all).push(old.clone());
        assert!(all.by_id(old.session.id().unwrap()).is_none());
    }
}
