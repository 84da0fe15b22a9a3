//! The wire between an engine and its host: JSON lines with commands to the engine and events from
//! it.
//!
//! Fields of the protocol's document and later ones are both read; unknown fields are ignored. Only
//! fields that both know are written.

mod command;
mod event;

pub use command::{HostCommand, Mistake};
pub use event::{AnswerRoute, EngineEvent, Escalation, Suspension, ToolRequest};

use countersign_tokens::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The secret of a request that `approval_resume` answers; no log shows it.
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
        // The host needs the token itself; only `Debug` hides it.
        serializer.serialize_str(self.reveal())
    }
}

impl<'de> Deserialize<'de> for ResumeToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
