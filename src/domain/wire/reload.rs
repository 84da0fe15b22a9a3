//! `/v1/reload`: a changed config.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The config that was put in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadReply {
    /// What happened, in one or two sentences.
    pub message: String,
    /// The changed keys that take effect at the next start only, such as `daemon.listen`.
    pub restart: Vec<String>,
}
