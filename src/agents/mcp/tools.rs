//! The tools of the server, as `tools/list` describes them.

use serde_json::{Value, json};

/// Claude Code's permission prompt.
pub(super) const APPROVE: &str = "approve";

/// A question to a person.
pub(super) const ASK_HUMAN: &str = "ask_human";

/// The reply to `tools/list`.
pub(super) fn list() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({"tools": [
        {
            "name": ASK_HUMAN,
            "title": "Ask a person",
            "description": "Asks a person a question and waits for the answer, which may take \
                minutes. Use it where only a person can decide. They can always answer in their \
                own words.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "question": text("The whole question, with all that is needed to answer it"),
                    "options": {
                        "type": "array",
                        "maxItems": 20,
                        "description": "What to choose from; leave it out for an open question",
                        "items": {"anyOf": [
                            {"type": "string"},
                            {
                                "type": "object",
                                "properties": {
                                    "label": text("What is answered when it is chosen"),
                                    "description": text("What it means"),
                                },
                                "required": ["label"],
                            },
                        ]},
                    },
                    "multiple": {
                        "type": "boolean",
                        "description": "Whether several options may be chosen",
                    },
                    "reason": text("Why you ask"),
                },
                "required": ["question"],
            },
        },
        {
            "name": APPROVE,
            "title": "Ask for permission",
            "description": "For `claude -p --permission-prompt-tool`; not for the model. Decides \
                by rules, or asks a person, whether a tool may run.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "tool_name": text("The tool that wants to run"),
                    "input": {"type": "object", "description": "Its arguments"},
                    "tool_use_id": text("The id of the call"),
                },
                "required": ["tool_name", "input"],
            },
        },
    ]})
}
