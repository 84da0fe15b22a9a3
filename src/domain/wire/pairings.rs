//! `/v1/pairings`: who somebody is in a chat.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Begins a pairing, which ends an earlier one on the same platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingRequest {
    /// The chat platform, as in the config.
    pub platform: String,
}

/// A pairing that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairingReply {
    /// Its id.
    pub id: String,
    /// The code that somebody is to send to the bot. It works once.
    pub code: String,
    /// Until when, RFC 3339.
    pub expires: String,
}

/// What is known of a pairing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairingView {
    /// Whether somebody has sent its code.
    pub state: PairingProgress,
    /// Who has, and where. They may not answer anything by this alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<PairingKnock>,
}

/// Whether somebody has sent a pairing's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PairingProgress {
    /// Nobody yet.
    Waiting,
    /// Somebody has.
    Knocked,
    /// Nobody has, and the code does not work any more.
    Expired,
}

/// Who sent a pairing's code, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairingKnock {
    /// The platform's lasting id, as `[approvers]` takes it.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// The target that cards in that place have.
    pub target: String,
    /// The place for people to read.
    pub place: String,
}
