//! `/v1/grants`: what was approved for longer than once.

use crate::By;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A grant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrantView {
    /// Its id.
    pub id: String,
    /// The ask that it was given on.
    pub ask: String,
    /// The tool that its rule covers.
    pub tool: String,
    /// The pattern of its rule.
    pub pattern: String,
    /// The verdict of its rule.
    pub verdict: String,
    /// How far it reaches.
    pub scope: GrantReach,
    /// The agent that it was given to.
    pub agent: String,
    /// The session that it was given in.
    pub session: String,
    /// Who gave it.
    pub by: By,
    /// When it was given, RFC 3339.
    pub created_at: String,
    /// When it ends, RFC 3339; absent where it does not end by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Its rule as people read it.
    pub rule: String,
    /// Why it does not hold, though nobody revoked it: its rule was changed in the rules file, or
    /// taken out of it. Absent where it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// How many calls it let run; for approvers, and absent under a profile that does not count
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// When it last let one run, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// The last one in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<String>,
}

/// How far a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GrantReach {
    /// The session that it was given in.
    Session,
    /// That session, until it expires.
    Timed,
    /// Every session, until it is revoked.
    Always,
    /// Exactly one call, once, until it expires: it was approved ahead.
    Budget,
    /// Every session, until it is revoked: it allows nothing, but makes calls ask that it covers.
    Review,
}

/// The grants in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrantsPage {
    /// The grants.
    pub grants: Vec<GrantView>,
}

/// The grant that was revoked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevokeReply {
    /// The grant.
    pub revoked: GrantView,
}
