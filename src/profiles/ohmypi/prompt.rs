//! The text that oh-my-pi shows a person: the tool, its origin, the reason, and what it would do.

use serde_json::Value;

use countersign_policy::{call::Call, tools::Kind};

/// Number of characters of one detail that are shown.
pub const SHOWN: usize = 2000;

/// Returns the lines of a prompt. `declared` is true when the tool declares anything.
#[must_use]
pub fn lines(tool: &str, declared: bool, reason: Option<&str>, details: &[String]) -> Vec<String> {
    let mut text = vec![format!("Allow tool: {tool}")];
    // Such a tool gives no other hint of its origin.
    if tool.starts_with("mcp__") && !declared {
        text.push("Origin: MCP server tool".to_owned());
    }
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        text.push(format!("Reason: {reason}"));
    }
    text.extend(details.iter().filter(|detail| !detail.is_empty()).cloned());
    text.join("\n").split('\n').map(str::to_owned).collect()
}

/// Returns the details of a call, as the system's own tools write them.
#[must_use]
pub fn details(call: &Call) -> Vec<String> {
    let named = |label: &str, key: &str| {
        let text = call.args.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())?;
        Some(format!("{label}{}", elide(text, SHOWN)))
    };
    let lines = match (call.kind(), call.tool.as_str()) {
        (Kind::Shell, _) => {
            let command = call.command().map_or_else(|| "(missing)".into(), |c| elide(c, SHOWN));
            return vec![format!("Command: {command}")];
        }
        (Kind::Write, _) => vec![named("Path: ", "path"), named("Content:\n", "content")],
        (Kind::Read | Kind::Edit, _) => vec![named("Path: ", "path")],
        (_, "eval") => vec![named("Language: ", "language"), named("Code:\n", "code")],
        (_, "browser") => vec![named("Action: ", "action"), named("URL: ", "url")],
        (_, "task") => vec![named("Agent: ", "agent"), named("Assignment:\n", "assignment")],
        _ => Vec::new(),
    };
    lines.into_iter().flatten().collect()
}

/// Returns the first `most` characters and the number of those left out. They are counted in UTF-16
/// units as in the system; no character is split.
#[must_use]
pub fn elide(text: &str, most: usize) -> String {
    let all: usize = text.chars().map(char::len_utf16).sum();
    if all <= most {
        return text.to_owned();
    }
    let mut kept = 0;
    let shown: String = text
        .chars()
        .take_while(|c| {
            kept += c.len_utf16();
            kept <= most
        })
        .collect();
    let left = all - shown.chars().map(char::len_utf16).sum::<usize>();
    format!("{shown}[…{left}ch elided…]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{details, elide};
    use countersign_policy::call::Call;

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(elide("abcdef", 4), "abcd[…2ch elided…]");
        assert_eq!(elide("abcd", 4), "abcd");
        assert_eq!(elide("abc😀d", 4), "abc[…3ch elided…]");
    }

    #[test]
    fn details_name_what_the_call_would_touch() {
        let write = Call::new("write", json!({ "path": "/tmp/out", "content": "hello" }));
        assert_eq!(details(&write), ["Path: /tmp/out", "Content:\nhello"]);
        assert_eq!(details(&Call::new("bash", json!({}))), ["Command: (missing)"]);
        assert_eq!(details(&Call::new("mcp__x_y", json!({ "path": "/" }))), Vec::<String>::new());
    }
}
