//! What a tool of oh-my-pi declares of itself: the fields on which the profile `ohmypi` decides.

use countersign_domain::call::Call;
use serde::Deserialize;
use serde_json::Value;

/// A declaration: a tier, or more.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ToolDeclaration {
    /// The tier alone.
    Tier(String),
    /// All of it.
    Fields(Box<DeclarationFields>),
}

/// The fields of a declaration.
// FAIL-CLOSED: one of another type is no declaration, and such a call is blocked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeclarationFields {
    #[serde(default)]
    tier: Option<String>,
    #[serde(default, rename = "override")]
    overrides: Option<Value>,
    #[serde(default)]
    policy: Option<Value>,
    #[serde(default)]
    policy_key: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

impl Default for ToolDeclaration {
    fn default() -> Self {
        Self::Fields(Box::default())
    }
}

impl ToolDeclaration {
    /// The declaration that comes with a call.
    pub(super) fn read(declared: Value) -> Result<Self, String> {
        let unreadable = |error| format!("the tool's declaration cannot be read: {error}");
        match declared {
            Value::String(tier) => Ok(Self::Tier(tier)),
            Value::Object(_) => {
                serde_json::from_value(declared).map(Self::Fields).map_err(unreadable)
            }
            _ => Err("the tool's declaration is neither a tier nor an object".to_owned()),
        }
    }

    /// The tier that oh-my-pi's own tools declare. Any other tool counts as one that runs programs.
    pub(super) fn known(tool: &str) -> Self {
        let tier = match tool {
            "read" | "grep" | "glob" | "find" | "ls" | "ast_grep" | "todo" | "web_search" => "read",
            "write" | "edit" | "ast_edit" => "write",
            tool if tool.starts_with("mcp__") => "write",
            _ => return Self::default(),
        };
        Self::Tier(tier.to_owned())
    }

    pub(super) fn put_into(self, call: &mut Call) {
        match self {
            Self::Tier(tier) => call.tier = Some(tier),
            Self::Fields(fields) => {
                let DeclarationFields { tier, overrides, policy, policy_key, reason } = *fields;
                call.tier = tier;
                call.overrides = overrides;
                call.policy = policy;
                call.policy_key = policy_key;
                call.reason = reason;
            }
        }
    }
}
