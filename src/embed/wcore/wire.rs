//! The wire between an engine and its host: JSON lines, commands one way and events the other.
//!
//! The fields of the protocol's document and the later ones are read alike; fields that are not
//! known are left alone. What is written is what both read.

mod command;
mod event;

pub use command::{Command, Mistake};
pub use event::{Answering, Escalation, Event, Request, Suspension};

use countersign_tokens::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The secret behind a request that is answered by `approval_resume`; no log shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeToken(Secret);

impl ResumeToken {
    /// Wraps a token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self(Secret::new(token))
    }

    /// The token itself, for the wire.
    #[must_use]
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

impl Serialize for ResumeToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.reveal())
    }
}

impl<'de> Deserialize<'de> for ResumeToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
