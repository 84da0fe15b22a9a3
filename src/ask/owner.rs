//! Whose a session is.

use countersign_tokens::digest::sha256_hex;
use serde::{Deserialize, Serialize};

/// Who a session belongs to: where its calls come in, and the secret that they bring along.
// SECURITY: names of agents and sessions are known to many; what is granted to a session covers
// only the calls of the one that it was granted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// Whoever brings calls by this handle and no secret.
    #[must_use]
    pub fn by(handle: &str) -> Self {
        Self(handle.to_owned())
    }

    /// The same with a session's secret, of which only the hash is kept.
    #[must_use]
    pub fn with(self, secret: &str) -> Self {
        Self(format!("{} {}", self.0, sha256_hex(secret.as_bytes())))
    }

    /// An owner as the store keeps it.
    #[must_use]
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The owner as the store keeps it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handle_and_secret_both_count_and_the_secret_is_not_kept() {
        let by = |handle: &str| Owner::by(handle);
        let owner = by("tcp:agent").with("a-secret");
        assert_eq!(owner, by("tcp:agent").with("a-secret"));
        for other in [
            by("tcp:agent"),
            by("unix:agent").with("a-secret"),
            by("tcp:agent").with("another"),
            by("tcp:agent").with(""),
        ] {
            assert_ne!(owner, other);
        }
        assert!(!owner.as_str().contains("a-secret"));
    }
}
