//! What is at the path of a file that a call writes whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the agent's side found at the path of a file that the call writes whole. People read it on
/// the card; no rule does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Existing {
    /// Nothing: the file is new.
    Nothing,
    /// A file, which is replaced.
    File {
        /// Its size.
        bytes: u64,
        /// Its lines, where it is a text that is small enough to be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lines: Option<u64>,
    },
}
