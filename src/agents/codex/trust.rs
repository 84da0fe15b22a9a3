//! Whether Codex runs our hooks: a person has to trust each of them first.

use toml::Value;

/// Returns whether one of these hooks in this file has no mark of trust in Codex's config. The mark
/// holds a hash of the hook, which Codex alone can check.
pub(super) fn missing(file: &str, hooks: &[(&str, usize, usize)], config: &str) -> bool {
    let config = config.parse::<toml::Table>().unwrap_or_default();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
    let is_trusted = |(event, group, handler): &(&str, usize, usize)| {
        let key = format!("{file}:{}:{group}:{handler}", snake(event));
        let mark = state.and_then(|state| state.get(&key));
        let is_on = mark.and_then(|mark| mark.get("enabled")).and_then(Value::as_bool);
        let hash = mark.and_then(|mark| mark.get("trusted_hash")).and_then(Value::as_str);
        hash.is_some_and(|hash| !hash.is_empty()) && is_on != Some(false)
    };
    !hooks.iter().all(is_trusted)
}

/// `PermissionRequest` as `permission_request`.
fn snake(event: &str) -> String {
    let mut text = String::new();
    for letter in event.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_of_ours_needs_a_mark_that_is_not_switched_off() {
        let hooks = [("PermissionRequest", 0, 0), ("PreToolUse", 1, 0)];
        let mark = |event: &str, group: usize, more: &str| {
            format!(
                "[hooks.state.\"/h/hooks.json:{event}:{group}:0\"]\n\
                 trusted_hash = \"sha256:1\"\n{more}"
            )
        };
        let (first, second) = (mark("permission_request", 0, ""), mark("pre_tool_use", 1, ""));
        let off = mark("pre_tool_use", 1, "enabled = false\n");
        for (config, wanted) in [
            (String::new(), true),
            (first.clone(), true),
            (format!("{first}{second}"), false),
            (format!("{first}{off}"), true),
            ("[hooks".to_owned(), true),
        ] {
            assert_eq!(missing("/h/hooks.json", &hooks, &config), wanted, "{config}");
        }
    }
}
