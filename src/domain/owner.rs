//! The owner of a session.

use countersign_tokens::digest::sha256_hex;
use serde::{Deserialize, Serialize};

/// The owner of a session: the handle that submits its calls, and the secret that they carry.
// SECURITY: names of agents and sessions are widely known. A grant for a session covers only calls
// of its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(String);

/// What the owner of calls with an agent's own token begins with.
const TOKEN: &str = "token:";

impl Owner {
    /// The owner of calls with this handle and no secret.
    #[must_use]
    pub fn by(handle: &str) -> Self {
        Self(handle.to_owned())
    }

    /// The owner of calls with an agent's own token, by the token's random id.
    #[must_use]
    pub fn by_token(id: &str) -> Self {
        Self(format!("{TOKEN}{id}"))
    }

    /// The id of the agent's own token that these calls bring; `None` of every other handle.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.0.split(' ').next()?.strip_prefix(TOKEN)
    }

    /// The same with a session's secret, of which only the hash is stored.
    #[must_use]
    pub fn with(self, secret: &str) -> Self {
        Self(format!("{} {}", self.0, sha256_hex(secret.as_bytes())))
    }

    /// Whether calls of this owner come from the same handle as those of `other`, whatever secrets
    /// they have.
    #[must_use]
    pub fn is_of_handle(&self, other: &Self) -> bool {
        self.0.split(' ').next() == other.0.split(' ').next()
    }

    /// Wraps an owner from the store.
    #[must_use]
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The owner for the store.
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

    #[test]
    fn an_owner_is_of_its_handle_whatever_its_secret() {
        let handle = Owner::by("tcp:agent");
        assert!(handle.is_of_handle(&handle) && handle.clone().with("a").is_of_handle(&handle));
        assert!(handle.clone().with("a").is_of_handle(&handle.clone().with("b")));
        for other in ["tcp:agent2", "tcp", "", "unix:agent"] {
            assert!(!Owner::by(other).with("a").is_of_handle(&handle), "{other}");
        }
    }
    #[test]
    fn only_an_agents_own_token_has_an_id() {
        let owner = Owner::by_token("abc");
        assert_eq!([owner.token(), owner.clone().with("s").token()], [Some("abc"); 2]);
        assert_eq!([Owner::by("tcp:agent").token(), Owner::by("").token()], [None; 2]);
        assert!(!owner.is_of_handle(&Owner::by_token("abcd")));
    }
}
