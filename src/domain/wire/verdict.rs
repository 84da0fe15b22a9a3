//! What becomes of a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[must_use]
pub enum CallVerdict {
    /// The call may run.
    Allow,
    /// It waits for a person.
    Ask,
    /// It may not run.
    Deny,
    /// The call may run with `answer.updated_input` in the place of its arguments, and only so.
    Edited,
    /// A question has its answers. Nothing may run because of that.
    Answered,
}
