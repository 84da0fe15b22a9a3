//! Agents' tokens and sessions.

use crate::By;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// `/v1/tokens`: the tokens of agents.

/// Makes a token for an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTokenRequest {
    /// The agent's name: 1 to 40 letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// After how many seconds it ends by itself; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
    /// Whether the agent may read what other agents ask.
    #[serde(default)]
    pub sees_all: bool,
    /// How much the agent may ask. What is more pauses it until a person resumes it.
    #[serde(default)]
    pub limits: TokenLimits,
    /// What it is for; everything where nothing is named.
    #[serde(default)]
    pub scope: TokenScope,
}

/// What the token of an agent is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenScope {
    /// The profile that has to decide on its agent's calls; a daemon with another one refuses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The only place where its asks are shown besides the inbox: `inbox`, the name of a chat's
    /// target, or of a route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// How much an agent may ask; without a limit only those of the config hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenLimits {
    /// Asks open at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open: Option<u32>,
    /// New asks in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
    /// Asks of one session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_task: Option<u32>,
}

/// Since when a limit has paused an agent, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPauseView {
    /// RFC 3339.
    pub since: String,
    /// Which limit it broke.
    pub why: String,
    /// The ask whose approval resumes it.
    pub ask: String,
}

/// Gives an agent another token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateTokenRequest {
    /// For how many seconds the token before is accepted too, at most 3600; 0 where absent.
    #[serde(default)]
    pub overlap_s: u64,
}

/// The token of an agent, without the token itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenView {
    /// The agent's name.
    pub name: String,
    /// What has become of it.
    pub state: TokenState,
    /// Whether the agent may read what other agents ask.
    pub sees_all: bool,
    /// Who made it.
    pub by: By,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// When it ends by itself, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// When it was last shown, to the minute, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// Until when the token before a rotation is accepted too, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_until: Option<String>,
    /// How much the agent may ask.
    #[serde(default)]
    pub limits: TokenLimits,
    /// What it is for.
    #[serde(default)]
    pub scope: TokenScope,
    /// The pause of its agent, where a limit has paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<AgentPauseView>,
}

/// What has become of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenState {
    /// It is accepted.
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}

/// The tokens of agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokensPage {
    /// By name.
    pub tokens: Vec<TokenView>,
}

/// A new token, shown this one time.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewTokenReply {
    /// The token itself. Only its hash is stored.
    pub token: String,
    /// Whose it is.
    pub agent: TokenView,
}

// SECURITY: a derived Debug would put the token into logs.
impl std::fmt::Debug for NewTokenReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewTokenReply").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// The agent that was resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResumedAgentReply {
    /// Its token.
    pub resumed: TokenView,
}

/// The token that was revoked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevokedTokenReply {
    /// Whose it was.
    pub revoked: TokenView,
}

// `/v1/sessions`.

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// Its agent.
    pub agent: String,
    /// Its name.
    pub session: String,
    /// The machine of its latest ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The folder of its latest ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its own mode; absent where it has the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// How many of its asks are open.
    pub open: u64,
    /// The ids of its open asks, oldest first, at most 100.
    pub asks: Vec<String>,
    /// When it last asked, got an answer or changed its mode, RFC 3339.
    pub last_seen: String,
}

/// The sessions that are known: those with open asks, with a mode of their own, and those of the
/// latest closed asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionsPage {
    /// The sessions, latest seen first, at most 100.
    pub sessions: Vec<SessionView>,
    /// Whether there are more.
    pub more: bool,
}

/// Names the agent whose session it is: for `abort` and `end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// The agent.
    pub agent: String,
}

/// A mode for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeRequest {
    /// The agent.
    pub agent: String,
    /// The mode, in the profile's own words.
    pub mode: String,
}

/// How many asks were cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelledReply {
    /// How many.
    pub cancelled: usize,
}

/// The mode that a session has now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeReply {
    /// The mode.
    pub mode: String,
}
