//! A permission prompt of Claude Code that reaches us without a hook: through an MCP tool or its
//! control protocol. Both wait for exactly one reply, so there is no silence here.

use super::request::{PLAN, PermissionRequest};
use crate::{agent::HookRequest, hook_call::message};
use countersign_client::Decided;
use countersign_domain::{Decision, call::Call};
use serde_json::{Value, json};

/// A call that Claude Code wants permission for, or its questions.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionPrompt(PermissionRequest);

impl PermissionPrompt {
    /// The prompt for this tool with these arguments.
    ///
    /// # Errors
    /// A sentence, if the arguments are not an object: an approval repeats them as one.
    pub fn new(
        session: String,
        cwd: Option<String>,
        tool: String,
        input: Value,
    ) -> Result<Self, String> {
        match input {
            Value::Object(_) => Ok(Self(PermissionRequest::bare(session, cwd, tool, input))),
            _ => Err("`input` is not an object; it holds the tool's arguments".to_owned()),
        }
    }

    /// The same in this mode of Claude Code, of this subagent.
    #[must_use]
    pub(super) fn within(self, mode: Option<String>, subagent: Option<String>) -> Self {
        Self(self.0.within(mode, subagent))
    }

    /// Returns whether it asks to leave the plan mode.
    pub(super) fn is_plan(&self) -> bool {
        self.0.tool() == PLAN
    }

    /// The call to submit.
    ///
    /// # Errors
    /// A sentence, if questions cannot be shown.
    pub fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        HookRequest::call(&self.0, key, host)
    }

    /// The decision as Claude Code reads it: `{"behavior":"allow","updatedInput":…}` or
    /// `{"behavior":"deny","message":…}`.
    // FAIL-CLOSED: where a hook prints nothing, this denies.
    #[must_use]
    pub fn reply(&self, decided: &Decided) -> Value {
        let Some(mut decision) = self.0.decided(decided) else {
            return match decided.decision {
                Decision::Deny => Self::denial(&message(decided)),
                _ => Self::denial("countersign has no decision that fits this request."),
            };
        };
        let allows = decision.get("behavior").is_some_and(|behavior| behavior == "allow");
        if let (true, Some(fields)) = (allows, decision.as_object_mut()) {
            // Required here: an allow without arguments is an error at Claude Code.
            fields.entry("updatedInput").or_insert_with(|| self.0.input().clone());
        }
        decision
    }

    /// The reply where there is no decision, for this reason.
    #[must_use]
    pub fn denial(why: &str) -> Value {
        json!({"behavior": "deny", "message": why})
    }
}
