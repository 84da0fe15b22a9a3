//! Secrets, and tokens that the daemon only has to compare.

use crate::sha256_hex;
use std::fmt;
use subtle::ConstantTimeEq;

/// A text that no log, error or card shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for the code that has to send it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The last four characters, so that a person can distinguish two tokens; none of a short one.
    #[must_use]
    pub fn hint(&self) -> String {
        let count = self.0.chars().count();
        if count < 12 {
            "…".into()
        } else {
            format!("…{}", self.0.chars().skip(count - 4).collect::<String>())
        }
    }
}

// SECURITY: a derived Debug would put secrets into logs.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The SHA-256 of a token: enough to compare, useless to a reader.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Hashes a token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(sha256_hex(token.as_bytes()))
    }

    /// Returns whether `token` has this hash, in constant time.
    #[must_use]
    pub fn matches(&self, token: &str) -> bool {
        // Both sides are hashes of equal length, so the time depends on neither the token nor its
        // length.
        sha256_hex(token.as_bytes()).as_bytes().ct_eq(self.0.as_bytes()).into()
    }

    /// Reads a hash as it is written; `None` if the text is no hash.
    #[must_use]
    pub fn stored(text: &str) -> Option<Self> {
        match Token::parse(text) {
            Ok(Token::Hashed(hash)) => Some(hash),
            Ok(Token::Plain(_)) | Err(_) => None,
        }
    }

    /// A name for the token that may be stored and shown.
    // SECURITY: never the hash itself, with which anybody could play the daemon's part of a proof.
    #[must_use]
    pub fn id(&self) -> String {
        sha256_hex(format!("the id of {}", self.0).as_bytes()).chars().take(32).collect()
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:…")
    }
}

/// A token in a config file: the token or its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// The token itself.
    Plain(Secret),
    /// Its hash.
    Hashed(TokenHash),
}

impl Token {
    /// Parses `sha256:<64 hex digits>` as a hash and anything else as a token.
    ///
    /// # Errors
    /// A sentence that does not repeat the text: a malformed hash, or an empty token.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok(Self::Hashed(TokenHash(hex.to_ascii_lowercase())))
            }
            Some(_) => Err("must have 64 hex digits after `sha256:`".into()),
            // FAIL-CLOSED: an empty token would admit anybody.
            None if text.trim().is_empty() => {
                Err("is empty; `countersign init` makes a fresh one".into())
            }
            None => Ok(Self::Plain(Secret::new(text))),
        }
    }

    /// The hash to compare with.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        match self {
            Self::Plain(secret) => TokenHash::of(secret.reveal()),
            Self::Hashed(hash) => hash.clone(),
        }
    }

    /// The token, if the config contains it.
    #[must_use]
    pub fn plain(&self) -> Option<&Secret> {
        match self {
            Self::Plain(secret) => Some(secret),
            Self::Hashed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_nowhere() {
        let secret = Secret::new("123456:ABCDEFGH");
        let token = Token::Plain(secret.clone());
        assert_eq!(format!("{secret:?} {token:?} {:?}", token.hash()), "… Plain(…) sha256:…");
        assert_eq!((secret.hint(), Secret::new("short").hint()), ("…EFGH".into(), "…".into()));
    }

    #[test]
    fn the_id_of_a_token_is_its_own_and_holds_nothing_of_its_hash() {
        let one = TokenHash::of("one");
        let other = TokenHash::of("other");
        assert_eq!((one.id(), one.id().len()), (TokenHash::of("one").id(), 32));
        assert!(one.id() != other.id() && !one.to_string().contains(&one.id()));
    }

    #[test]
    fn only_the_token_itself_matches_its_hash() {
        let hash = TokenHash::of("right");
        assert!(hash.matches("right"));
        for wrong in ["", "Right", "right ", "sha256:", &hash.to_string()] {
            assert!(!hash.matches(wrong), "{wrong}");
        }
        assert_eq!(Token::parse(&hash.to_string()), Ok(Token::Hashed(hash)));
    }

    #[test]
    fn a_hash_of_the_wrong_form_and_an_empty_token_are_refused() {
        let form = Err("must have 64 hex digits after `sha256:`".into());
        assert_eq!(Token::parse("sha256:12"), form);
        assert_eq!(Token::parse(&format!("sha256:{}", "g".repeat(64))), form);
        assert_eq!(Token::parse(" "), Err("is empty; `countersign init` makes a fresh one".into()));
    }
}
