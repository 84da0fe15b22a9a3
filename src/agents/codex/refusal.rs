//! Replies that grant nothing, for each request that Codex makes.

use serde_json::{Value, json};

/// The requests.
pub(super) const METHODS: [&str; 8] = [
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "item/tool/requestUserInput",
    "item/permissions/requestApproval",
    "mcpServer/elicitation/request",
    "item/tool/call",
    "applyPatchApproval",
    "execCommandApproval",
];

/// The denial of a request, as Codex reads it; `None` for a request that is not known.
pub(super) fn of(method: &str) -> Option<Value> {
    Some(match method {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            json!({"decision": "decline"})
        }
        "item/tool/requestUserInput" => json!({"answers": {}}),
        "item/permissions/requestApproval" => json!({"permissions": {}, "scope": "turn"}),
        "mcpServer/elicitation/request" => json!({"action": "decline"}),
        "item/tool/call" => json!({"contentItems": [], "success": false}),
        "applyPatchApproval" | "execCommandApproval" => json!({"decision": "denied"}),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_denial_and_what_looks_like_one_has_none() {
        assert!(METHODS.iter().all(|method| of(method).is_some()));
        for method in ["item/new/requestApproval", "item/tool/requestApproval", ""] {
            assert_eq!(of(method), None, "{method}");
        }
    }
}
