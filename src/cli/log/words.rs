//! What happened, in words.

use crate::cli::say;
use countersign_domain::wire::{AskView, EventView};
use countersign_port::brief;
use serde_json::Value;

/// How much of a command a line shows, in characters.
const COMMAND: usize = 80;

/// The agent or session of an event: its ask's, or its own.
pub(super) fn of<'e>(event: &'e EventView, name: &str) -> Option<&'e str> {
    match (&event.ask, name) {
        (Some(ask), "agent") => Some(&ask.call.agent),
        (Some(ask), _) => Some(&ask.call.session),
        (None, name) => event.data.get(name)?.as_str(),
    }
}

/// What happened, on the rest of the line.
pub(super) fn told(kind: &str, event: &EventView) -> String {
    let text = |name: &str| event.data.get(name).and_then(Value::as_str);
    let by = event.data.get("by").and_then(|by| by.get("name")?.as_str());
    match (kind, &event.ask) {
        ("refused", _) => {
            let (name, place) = (text("name").unwrap_or("?"), text("platform").unwrap_or("?"));
            format!("{name} ({place}) may not answer")
        }
        ("answered" | "expired" | "cancelled", Some(ask)) => {
            let reason = ask.reason.clone().unwrap_or_default();
            format!("{reason}: {}", command(ask))
        }
        ("postponed" | "asked", Some(ask)) => command(ask),
        ("ruled" | "allowed", _) => {
            let (tool, why) = (text("tool").unwrap_or("?"), text("reason").unwrap_or_default());
            let verdict = if kind == "allowed" { kind } else { "denied" };
            format!("{verdict} {tool}: {why}")
        }
        ("revoked" | "saved", _) => match (text("rule"), by) {
            (Some(rule), Some(by)) => format!("{rule}, by {by}"),
            (rule, _) => rule.unwrap_or_default().to_owned(),
        },
        ("passkey_added" | "passkey_removed" | "passkey_refused", _) => {
            let passkey = |name: &str| event.data.get("passkey")?.get(name)?.as_str();
            let (name, owner) = (passkey("name").unwrap_or("?"), passkey("owner").unwrap_or("?"));
            let by = by.map(|by| format!(", by {by}")).unwrap_or_default();
            format!("{name} of {owner}{by}")
        }
        ("log_key", _) => {
            let key: String = text("key").unwrap_or("?").chars().take(16).collect();
            let by = by.map(|by| format!(", by {by}")).unwrap_or_default();
            format!("{}: {key}… signs{by}", text("how").unwrap_or("?"))
        }
        ("log_broken" | "log_accepted", _) => {
            let by = by.map(|by| format!(", by {by}")).unwrap_or_default();
            format!("{}{by}", text("says").unwrap_or("?"))
        }
        ("mode", _) => format!("is in the mode {} now", text("mode").unwrap_or("?")),
        (_, Some(ask)) => match by {
            Some(by) => format!("by {by}: {}", command(ask)),
            None => command(ask),
        },
        (_, None) => by.map(|by| format!("by {by}")).unwrap_or_default(),
    }
}

/// What the ask is about, on part of a line.
fn command(ask: &AskView) -> String {
    let call = &ask.call;
    let question = call.questions.first().map(|question| question.question.clone());
    let args = || match call.args.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => format!("{} {}", call.tool, call.args),
    };
    brief(&say::literal(&question.unwrap_or_else(args)), COMMAND)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    fn happened(kind: &str, data: Value) -> String {
        told(kind, &EventView { id: 1, at: 0, data, ask: None })
    }

    #[test]
    fn an_event_without_an_ask_says_what_happened_in_its_own_words() {
        let ana = json!({"kind": "person", "platform": "telegram", "id": "4", "name": "Ana"});
        let cases = [
            (
                "ruled",
                json!({"tool": "Bash", "reason": "a rule denies it"}),
                "denied Bash: a rule denies it",
            ),
            ("revoked", json!({"rule": "shell: ls *", "by": ana}), "shell: ls *, by Ana"),
            ("revoked", json!({"rule": "shell: ls *", "by": null}), "shell: ls *"),
            ("saved", json!({"rule": "shell: ls *", "by": ana}), "shell: ls *, by Ana"),
            ("mode", json!({"mode": "yolo"}), "is in the mode yolo now"),
            (
                "log_key",
                json!({"key": "0123456789abcdef01", "how": "rotated", "by": ana}),
                "rotated: 0123456789abcdef… signs, by Ana",
            ),
            ("log_key", json!({"key": "0", "how": "unexplained"}), "unexplained: 0… signs"),
            ("paused", json!({"how": "hold", "by": ana}), "by Ana"),
            ("signed_in", json!({"by": ana}), "by Ana"),
            (
                "passkey_removed",
                json!({"by": ana, "passkey": {"id": "1", "name": "a phone", "owner": "Ben"}}),
                "a phone of Ben, by Ana",
            ),
            ("passkey_refused", json!({"passkey": {"name": "x", "owner": "Ben"}}), "x of Ben"),
            (
                "refused",
                json!({"platform": "discord", "id": "7", "name": "Eve"}),
                "Eve (discord) may not answer",
            ),
            ("unheard_of", json!({}), ""),
        ];
        for (kind, data, wanted) in cases {
            assert_eq!(happened(kind, data), wanted, "{kind}");
        }
    }
}
