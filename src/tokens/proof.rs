//! Proofs of a token that do not contain it, for connections without TLS.
//!
//! As in SCRAM (RFC 5802): the daemon gives a nonce, and the client sends its token masked with
//! HMACs over the nonce and its request, keyed by the token's hash. The daemon stores only the
//! hash. It removes the mask with it; the result must be a token with that hash.
//
// SECURITY: a program that takes the port or socket of a stopped daemon gets a masked token. It is
// useless for any other nonce or request, and after the daemon's next start.

use crate::secret::{Secret, TokenHash};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use subtle::ConstantTimeEq;

/// The reply header with the daemon's own proof, after a request with a proof.
pub const REPLY: &str = "x-countersign-proof";

/// The scheme of the `Authorization` header: `Countersign NONCE:MASKED`.
pub const SCHEME: &str = "Countersign ";

/// The lifetime of a nonce.
const LIFE: Duration = Duration::from_secs(30);

/// The request that a proof covers; the proof is valid for no other.
#[derive(Debug)]
pub struct ProvenRequest<'a> {
    /// The daemon's nonce.
    pub nonce: &'a str,
    /// The method, such as `POST`.
    pub method: &'a str,
    /// Path and query as sent.
    pub target: &'a str,
    /// The body as sent.
    pub body: &'a [u8],
}

impl ProvenRequest<'_> {
    /// The masked token. HMAC takes keys of any length, so `None` does not occur.
    #[must_use]
    pub fn mask(&self, token: &Secret) -> Option<String> {
        let masked = self.masked(&TokenHash::of(token.reveal()), token.reveal().as_bytes())?;
        Some(URL_SAFE_NO_PAD.encode(masked))
    }

    /// Returns whether `sent` is the masked token with this hash.
    #[must_use]
    pub fn shows(&self, hash: &TokenHash, sent: &str) -> bool {
        let sent = URL_SAFE_NO_PAD.decode(sent).ok();
        let token = sent.and_then(|sent| String::from_utf8(self.masked(hash, &sent)?).ok());
        token.is_some_and(|token| hash.matches(&token))
    }

    /// The proof that this reply comes from a daemon that knows the token's hash.
    #[must_use]
    pub fn reply(&self, hash: &TokenHash, status: u16, body: &[u8]) -> Option<String> {
        let body = URL_SAFE_NO_PAD.encode(Sha256::digest(body));
        let about = format!("reply {status}\n{body}\n{}", self.about());
        Some(URL_SAFE_NO_PAD.encode(hmac(hash.to_string().as_bytes(), &about)?))
    }

    fn about(&self) -> String {
        let body = URL_SAFE_NO_PAD.encode(Sha256::digest(self.body));
        format!("{}\n{}\n{}\n{body}", self.nonce, self.method, self.target)
    }

    /// Adds the mask, or removes it: XOR does both.
    fn masked(&self, hash: &TokenHash, bytes: &[u8]) -> Option<Vec<u8>> {
        let about = self.about();
        let mut masked = Vec::with_capacity(bytes.len());
        // Each block has a mask of its own; one mask for a long token would cancel out between its
        // blocks.
        for (count, block) in bytes.chunks(32).enumerate() {
            let mask = hmac(hash.to_string().as_bytes(), &format!("mask {count}\n{about}"))?;
            masked.extend(block.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
        }
        Some(masked)
    }
}

/// The nonces of one run of the daemon. A nonce is stored only once it is used correctly, so
/// requests for nonces take no memory.
#[derive(Debug)]
pub struct Nonces {
    key: Secret,
    began: Instant,
    used: Mutex<HashMap<String, Duration>>,
}

impl Default for Nonces {
    fn default() -> Self {
        Self {
            key: Secret::new(crate::ids::token()),
            began: Instant::now(),
            used: Mutex::default(),
        }
    }
}

impl Nonces {
    /// Makes a nonce: random bits, its time, and an HMAC over both with a key of this run.
    #[must_use]
    pub fn fresh(&self) -> Option<String> {
        self.made(&crate::ids::nonce(), self.began.elapsed().as_millis())
    }

    /// Uses a nonce; returns `false` if it is older than its lifetime, used, or not ours.
    #[must_use]
    pub fn take(&self, nonce: &str) -> bool {
        let parts = nonce.split_once('.').and_then(|(random, rest)| {
            let at: u128 = rest.split_once('.')?.0.parse().ok()?;
            Some((self.made(random, at)?, Duration::from_millis(u64::try_from(at).ok()?)))
        });
        let Some((made, at)) = parts else { return false };
        let now = self.began.elapsed();
        if !bool::from(made.as_bytes().ct_eq(nonce.as_bytes())) || at > now || now - at > LIFE {
            return false;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        // An expired nonce is refused by its time, so only those still valid have to be remembered.
        used.retain(|_, at| *at + LIFE >= now);
        used.insert(nonce.to_owned(), at).is_none()
    }

    fn made(&self, random: &str, at: u128) -> Option<String> {
        let ours = hmac(self.key.reveal().as_bytes(), &format!("{random}\n{at}"))?;
        Some(format!("{random}.{at}.{}", URL_SAFE_NO_PAD.encode(ours)))
    }
}

fn hmac(key: &[u8], text: &str) -> Option<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(text.as_bytes());
    Some(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use proptest::prelude::*;

    fn request<'a>(nonce: &'a str, target: &'a str, body: &'a [u8]) -> ProvenRequest<'a> {
        ProvenRequest { nonce, method: "POST", target, body }
    }

    #[test]
    fn a_masked_token_shows_itself_for_its_own_request_only() {
        let (token, hash) = (Secret::new("the-token"), TokenHash::of("the-token"));
        let sent = request("n", "/v1/calls?wait=1", b"{}").mask(&token).unwrap();
        assert!(!sent.contains("the-token"));
        assert!(request("n", "/v1/calls?wait=1", b"{}").shows(&hash, &sent));
        let others = [
            request("m", "/v1/calls?wait=1", b"{}"),
            request("n", "/v1/calls", b"{}"),
            request("n", "/v1/calls?wait=1", b"[]"),
            ProvenRequest { method: "GET", ..request("n", "/v1/calls?wait=1", b"{}") },
            request("n\nPOST", "/v1/calls?wait=1", b"{}"),
        ];
        for other in others {
            assert!(!other.shows(&hash, &sent), "{} {}", other.method, other.target);
        }
        let own = request("n", "/v1/calls?wait=1", b"{}");
        assert!(!own.shows(&TokenHash::of("another"), &sent));
        for wrong in ["", "=", "the-token", &hash.to_string(), &sent.to_lowercase()] {
            assert!(!own.shows(&hash, wrong), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_token_comes_out_as_it_went_in(token in "\\PC{0,200}", body in any::<Vec<u8>>()) {
            let own = request("n", "/t", &body);
            let sent = own.mask(&Secret::new(token.clone())).unwrap();
            prop_assert!(own.shows(&TokenHash::of(&token), &sent));
        }
    }

    #[test]
    fn a_nonce_counts_once_while_it_is_young_and_only_where_it_was_made() {
        let nonces = Nonces::default();
        let nonce = nonces.fresh().unwrap();
        assert!(!Nonces::default().take(&nonce), "another start");
        assert!(nonces.take(&nonce) && !nonces.take(&nonce));
        for wrong in ["", ".", "..", "a.1.b", &nonce.replacen('.', ".1", 1)] {
            assert!(!nonces.take(wrong), "{wrong}");
        }
        let old = nonces.fresh().unwrap();
        let later = Nonces { began: Instant::now() - 2 * LIFE, ..nonces };
        assert!(!later.take(&old));
    }
}
