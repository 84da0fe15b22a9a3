//! `/v1/log`: the log that proves itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The query of `GET /v1/log`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct LogQuery {
    /// Begins behind this row; absent: with the first that is kept.
    pub after: Option<i64>,
    /// Ends with the newest checkpoint up to this row; absent: with the newest of all.
    pub until: Option<i64>,
}

/// A change of the key that signs the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogKeyRequest {
    /// Which.
    pub change: LogKeyChange,
}

/// What becomes of the key that signs the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogKeyChange {
    /// The daemon makes another one; the old one signs that it did.
    Rotate,
    /// The one that signs now is accepted, though nobody rotated it.
    Accept,
}

/// The key that signs the log from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogKeyReply {
    /// Its public half, in hex.
    pub key: String,
}

/// A page of the log, as lines of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogReply {
    /// The first line of an export up to that checkpoint.
    pub header: String,
    /// The lines of this page, in order.
    pub lines: Vec<String>,
    /// The value of `after` for the next page; absent behind the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
    /// The public key with which this daemon signs, in hex.
    pub key: String,
}
