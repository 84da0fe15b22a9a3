//! Who could answer, pairings and passkeys.

use crate::wire::RuleVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

// `/v1/approvers/explain` and `/v1/asks/{id}/approvers`: who could answer, and why.

/// A call of which to say who could answer it. Nothing runs and nobody is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerersRequest {
    /// The tool, such as `shell_exec`.
    pub tool: String,
    /// Its arguments, such as `{"command": "git push"}`.
    pub args: Value,
    /// The folder that the call would run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent that would make it; `countersign` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its session; `rules` where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The machine that it would come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Who could answer, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerersReply {
    /// What would happen to the call; people are asked only where it is `ask`.
    pub verdict: RuleVerdict,
    /// Why, as a sentence.
    pub reason: String,
    /// What an answer takes, a sentence for each answer rule that fits.
    pub required: Vec<String>,
    /// Everybody of whom the config knows.
    pub people: Vec<PossibleAnswererView>,
    /// Why nobody can approve it, a sentence for each rule that cannot be met.
    pub problems: Vec<String>,
    /// Where it is shown, and what happens while nobody answers, a sentence each.
    pub shown: Vec<String>,
}

/// Somebody who could answer, or could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PossibleAnswererView {
    /// Who, for people to read.
    pub who: String,
    /// Whether their answer counts.
    pub counts: CountsView,
    /// Why, where there is something to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// Whether somebody's answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountsView {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It depends on a role that only the chat knows.
    ByRole,
}

// `/v1/pairings`: who somebody is in a chat.

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
    pub by: Option<PairingSender>,
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
pub struct PairingSender {
    /// The platform's lasting id, as `[approvers]` takes it.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// The target that cards in that place have.
    pub target: String,
    /// The place for people to read.
    pub place: String,
}

// `/v1/passkeys`: the passkeys with which people sign in to the inbox.

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
