//! Edits settings that are one line in place, so that removing our hooks gives back every byte.
//!
//! The tree of [`super::JsonSettings`] breaks the lines of what it adds to, and cannot join them
//! again.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, Value},
    common::Ranged,
    parse_to_ast,
};
use std::ops::Range;

/// Returns whether the settings are one line with something in it.
pub(super) fn is_one_line(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text != "{}" && !text.contains('\n')
}

/// Adds a group for each event, in front of what is there; `None` where the settings have another
/// shape.
pub(super) fn insert(text: &str, groups: &[(&str, serde_json::Value)]) -> Option<String> {
    let parsed = parse(text)?;
    let root = parsed.as_object()?;
    let mut inserts: Vec<(usize, String, bool)> = Vec::new();
    match root.get("hooks").map(|prop| &prop.value) {
        None => {
            let all: Vec<String> =
                groups.iter().map(|(event, group)| event_text(event, group)).collect();
            let hooks = format!("\"hooks\":{{{}}}", all.join(","));
            inserts.push((root.start() + 1, hooks, root.properties.is_empty()));
        }
        Some(Value::Object(hooks)) => {
            // Reversed, because each goes in front of those before it.
            for (event, group) in groups.iter().rev() {
                inserts.push(match hooks.get(event).map(|prop| &prop.value) {
                    None => {
                        let last = hooks.properties.is_empty() && inserts.is_empty();
                        (hooks.start() + 1, event_text(event, group), last)
                    }
                    Some(Value::Array(there)) => {
                        (there.start() + 1, group.to_string(), there.elements.is_empty())
                    }
                    Some(_) => return None,
                });
            }
        }
        Some(_) => return None,
    }
    // From the back, so that the earlier places stay where they are.
    inserts.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let mut text = text.to_owned();
    for (at, insert, last) in inserts {
        text.insert_str(at, &if last { insert } else { insert + "," });
    }
    Some(text)
}

fn event_text(event: &str, group: &serde_json::Value) -> String {
    format!("{}:[{group}]", serde_json::Value::from(event))
}

/// Removes the entries with nothing but handlers of ours, and what is empty without them.
pub(super) fn remove(text: &str, is_ours: impl Fn(&serde_json::Value) -> bool) -> String {
    let mut text = text.to_owned();
    while let Some(range) = parse(&text).and_then(|parsed| ours(&parsed, &text, &is_ours)) {
        let (head, tail) = (text.get(..range.start), text.get(range.end..));
        let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
        // One comma goes too: ours is the one behind.
        text = match (tail.trim_start().strip_prefix(','), head.trim_end().strip_suffix(',')) {
            (Some(tail), _) => [head, tail].concat(),
            (None, Some(head)) => [head, tail].concat(),
            (None, None) => [head, tail].concat(),
        };
    }
    text
}

/// The place of something that is ours alone: all hooks, an event, or a group.
fn ours(
    parsed: &Value<'_>,
    text: &str,
    is_ours: &impl Fn(&serde_json::Value) -> bool,
) -> Option<Range<usize>> {
    let prop = parsed.as_object()?.get("hooks")?;
    let hooks = prop.value.as_object()?;
    let group = |group: &Value<'_>| {
        let json = text.get(group.start()..group.end()).unwrap_or_default();
        let entry = jsonc_parser::parse_to_serde_value(json, &ParseOptions::default());
        entry.is_ok_and(|entry| is_ours(&entry))
    };
    let event =
        |groups: &Array<'_>| !groups.elements.is_empty() && groups.elements.iter().all(group);
    let all = |hooks: &Object<'_>| {
        let mut events = hooks.properties.iter();
        !hooks.properties.is_empty() && events.all(|prop| prop.value.as_array().is_some_and(event))
    };
    if all(hooks) {
        return Some(prop.start()..prop.end());
    }
    hooks.properties.iter().find_map(|prop| {
        let groups = prop.value.as_array()?;
        match event(groups) {
            true => Some(prop.start()..prop.end()),
            false => {
                groups.elements.iter().find(|one| group(one)).map(|one| one.start()..one.end())
            }
        }
    })
}

fn parse(text: &str) -> Option<Value<'_>> {
    parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?.value
}
