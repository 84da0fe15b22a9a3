//! `/v1/passkeys`: the passkeys with which people sign in to the inbox.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A passkey, without its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PasskeyView {
    /// Its id.
    pub id: String,
    /// The name of its person in the config, when it was added.
    pub person: String,
    /// What its person calls it.
    pub name: String,
    /// The identity with which its person was signed in when they added it, `PLATFORM:ID`.
    pub identity: String,
    /// The host at which it signs in.
    pub host: String,
    /// Whether it lets its person in: the config still has this identity under this name.
    pub accepted: bool,
    /// When it was added, RFC 3339.
    pub created_at: String,
    /// When somebody last signed in with it, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
}

/// The passkeys of all people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PasskeysPage {
    /// By person.
    pub passkeys: Vec<PasskeyView>,
}

/// The passkey that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedPasskeyReply {
    /// The passkey.
    pub removed: PasskeyView,
}
