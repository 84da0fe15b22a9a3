//! Proofs: an open page and the daemon show each other that they hold the page's key, and never
//! send it.
//!
//! Before every request the page says hello with a nonce of its own. The daemon answers with a
//! challenge and a proof over both; a page that cannot verify it sends nothing further. Its request
//! then carries a proof over that challenge, the method, the path with its query, and the body, and
//! every event of the stream carries one too.
//
// SECURITY: a program that takes the port while the daemon is gone sees nonces and at most one
// request with its proof. Neither opens anything, neither there nor at another daemon nor at a
// later start.

use crate::inbox::{
    session::{AccessResult, Session, same},
    sign_in::random,
};
use axum::http::{HeaderMap, Method};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_port::locked;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

/// The header of a proof, `CHALLENGE.PROOF`.
pub(crate) const HEADER: &str = "x-countersign-inbox";

/// Goes with a request whose proof was good: its challenge.
#[derive(Clone)]
pub(crate) struct Proven(pub(crate) String);

/// How long a challenge may be answered.
const LIFE: Duration = Duration::from_secs(30);

/// Makes proofs, and checks those of the page.
pub(crate) struct Proofs {
    began: Instant,
    /// What only this start knows: a challenge of another one is none of ours, also where the key
    /// has outlived it. `None` without randomness: nothing is proved then.
    start: Option<String>,
    /// The challenges that were answered, and when; each counts once.
    used: Mutex<HashMap<String, Duration>>,
}

impl Default for Proofs {
    fn default() -> Self {
        Self { began: Instant::now(), start: random(), used: Mutex::default() }
    }
}

impl Proofs {
    /// A challenge for a page that says hello, and the daemon's own proof; `None` for what is no
    /// nonce.
    pub(crate) fn hello(&self, session: &Session, nonce: &str) -> Option<(String, String)> {
        let key = session.key().filter(|_| is_nonce(nonce))?;
        let challenge = self.challenge(key, nonce, self.began.elapsed())?;
        let proof = proof(key, &["daemon", nonce, &challenge])?;
        Some((challenge, proof))
    }

    /// Checks the proof of a request and returns its challenge. It counts once.
    pub(crate) fn check(
        &self,
        session: &Session,
        headers: &HeaderMap,
        (method, path, body): (&Method, &str, &str),
    ) -> Option<String> {
        let key = session.key()?;
        let (challenge, given) = headers.get(HEADER)?.to_str().ok()?.rsplit_once('.')?;
        let right = proof(key, &["page", challenge, method.as_str(), path, body])?;
        let fresh = || self.is_fresh(key, challenge);
        (AccessResult::from(same(&right, given)) == AccessResult::Granted && fresh()?)
            .then(|| challenge.to_owned())
    }

    /// Whether this is a challenge of ours, of these seconds, and answered for the first time.
    fn is_fresh(&self, key: &str, given: &str) -> Option<bool> {
        let (nonce, rest) = given.split_once('.')?;
        let made = Duration::from_millis(rest.split_once('.')?.0.parse().ok()?);
        let now = self.began.elapsed();
        let ours = same(&self.challenge(key, nonce, made)?, given);
        if !ours || made > now || now - made > LIFE {
            return Some(false);
        }
        let mut used = locked(&self.used);
        used.retain(|_, at| *at + LIFE >= now);
        Some(used.insert(given.to_owned(), made).is_none())
    }

    /// A page's nonce, the daemon's own time, and what makes it ours.
    fn challenge(&self, key: &str, nonce: &str, at: Duration) -> Option<String> {
        let at = at.as_millis().to_string();
        let ours = proof(key, &["challenge", self.start.as_deref()?, nonce, &at])?;
        Some(format!("{nonce}.{at}.{ours}"))
    }
}

/// An HMAC over lines. All but the last are free of line breaks, so no two lists of lines read the
/// same.
pub(crate) fn proof(key: &str, lines: &[&str]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    mac.update(lines.join("\n").as_bytes());
    Some(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

fn is_nonce(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    (16..=64).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    const NONCE: &str = "a-nonce-of-the-tests";

    fn header(challenge: &str, proof: &str) -> HeaderMap {
        let value = format!("{challenge}.{proof}").parse().unwrap();
        HeaderMap::from_iter([(HEADER.parse().unwrap(), value)])
    }

    /// What the page would send with a challenge.
    fn request(session: &Session, challenge: &str, body: &str) -> HeaderMap {
        let lines = ["page", challenge, "POST", "/inbox/press", body];
        header(challenge, &proof(session.key().unwrap(), &lines).unwrap())
    }

    fn taken(proofs: &Proofs, session: &Session, headers: &HeaderMap, body: &str) -> bool {
        proofs.check(session, headers, (&Method::POST, "/inbox/press", body)).is_some()
    }

    #[test]
    fn a_proof_opens_one_request_once() {
        let session = Session::new("a");
        let proofs = Proofs::default();
        let (challenge, _) = proofs.hello(&session, NONCE).unwrap();
        let headers = request(&session, &challenge, "{}");
        assert!(!taken(&proofs, &session, &headers, "{ }"), "another body");
        let elsewhere = (&Method::POST, "/inbox/events", "{}");
        assert!(proofs.check(&session, &headers, elsewhere).is_none(), "another path");
        let other = (&Method::GET, "/inbox/press", "{}");
        assert!(proofs.check(&session, &headers, other).is_none(), "another method");
        assert!(taken(&proofs, &session, &headers, "{}"));
        assert!(!taken(&proofs, &session, &headers, "{}"), "the same again");
        assert!(!taken(&proofs, &session, &HeaderMap::new(), "{}"), "none at all");
    }

    #[test]
    fn a_challenge_of_an_earlier_start_is_none_where_the_key_has_outlived_it() {
        let session = Session::new("a");
        let before = Proofs::default();
        let after = Proofs::default();
        let (challenge, _) = before.hello(&session, NONCE).unwrap();
        let headers = request(&session, &challenge, "{}");
        assert!(!taken(&after, &session, &headers, "{}"));
        assert!(taken(&before, &session, &headers, "{}"));
    }

    #[test]
    fn nothing_that_one_start_took_is_taken_by_another() {
        let before = Session::new("a");
        let after = Session::new("b");
        let one = Proofs::default();
        let other = Proofs::default();
        let (challenge, _) = one.hello(&before, NONCE).unwrap();
        let headers = request(&before, &challenge, "{}");
        assert!(!taken(&other, &after, &headers, "{}"));
        let (challenge, _) = other.hello(&after, NONCE).unwrap();
        assert!(!taken(&other, &after, &request(&before, &challenge, "{}"), "{}"));
    }

    #[test]
    fn a_challenge_of_the_pages_own_making_or_an_old_one_is_refused() {
        let session = Session::new("a");
        let proofs = Proofs::default();
        let made = proofs.challenge("another key", NONCE, Duration::ZERO).unwrap();
        let later =
            proofs.challenge(session.key().unwrap(), NONCE, Duration::from_secs(9)).unwrap();
        for challenge in [&*made, &*later, NONCE, "", ".", "..", "a.b.c"] {
            let headers = request(&session, challenge, "{}");
            assert!(!taken(&proofs, &session, &headers, "{}"), "{challenge}");
        }
        let (challenge, _) = proofs.hello(&session, NONCE).unwrap();
        let old =
            Proofs { began: Instant::now() - LIFE * 2, start: proofs.start, ..Proofs::default() };
        assert!(!taken(&old, &session, &request(&session, &challenge, "{}"), "{}"));
    }

    #[test]
    fn hello_proves_the_daemon_to_a_nonce_and_nobody_else() {
        let session = Session::new("a");
        let proofs = Proofs::default();
        let (challenge, said) = proofs.hello(&session, NONCE).unwrap();
        let right = proof(session.key().unwrap(), &["daemon", NONCE, &challenge]).unwrap();
        assert_eq!(said, right);
        for nonce in [
            "",
            "short",
            "with.dots.in.its.middle",
            "line\nbreaks-in-the-middle",
            "é-is-no-nonce-at-all",
        ] {
            assert_eq!(proofs.hello(&session, nonce), None, "{nonce}");
        }
        assert_eq!(proofs.hello(&session, &"x".repeat(65)), None);
        assert_eq!(proofs.hello(&Session::new(""), NONCE), None, "nobody may come in");
    }
}
