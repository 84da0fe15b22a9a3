//! Who may open the inbox: secrets worked out from its access token.

use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The length of a sign-in's name; 96 bits.
const ID: usize = 16;

/// The secrets of one browser's way in: of everybody with the access token, or of one sign-in. The
/// access token is made anew at every start of the daemon, so nothing
/// that a page holds or has sent is worth anything to a program that takes the port after
/// that daemon.
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

    /// A name that only this start of the daemon has. Under it the page's files have addresses that
    /// nobody else could have filled the browser's cache with.
    pub(crate) fn start(&self) -> String {
        derive("start", &self.access_token).chars().take(16).collect()
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

pub(crate) fn same(secret: &str, given: &str) -> bool {
    secret.as_bytes().ct_eq(given.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

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
        let (one, again, other) = (Session::new("a"), Session::new("a"), Session::new("b"));
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
        let (one, other) = (start.of_person("1"), start.of_person("2"));
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
        let (name, value) = (&session.cookie_name, &session.cookie);
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
}
