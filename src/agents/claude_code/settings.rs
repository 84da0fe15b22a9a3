//! Adds, finds and removes our entries in Claude Code's settings file, and leaves the rest
//! unchanged.

use super::{
    super::agent::{HookMode, Hooks},
    one_line,
};
use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstObject, CstRootNode},
};
use serde_json::{Value, json};

/// A day: longer than any deadline, so that Claude does not give up before the daemon does.
const TIMEOUT_S: u32 = 86_400;

/// The events that we hook. The first is decided; the others report that a call is over.
const EVENTS: [&str; 5] =
    ["PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"];
/// The event of every call, before it runs.
const GATE: &str = "PreToolUse";
/// The option of the hook of that event.
const GATE_OPTION: &str = " --gate";

/// The settings with our hooks, which run `command`. Existing hooks of ours are replaced;
/// everything else is unchanged, including order and layout.
///
/// # Errors
/// A sentence with line and column, if the text is not valid for Claude Code.
pub fn connect(text: &str, command: &str, mode: HookMode) -> Result<String, String> {
    let gate = Some(GATE).filter(|_| mode == HookMode::EveryCall);
    let events: Vec<&str> = EVENTS.into_iter().chain(gate).collect();
    // Compared first: connecting twice must not move our entries or report a change.
    let there = hooks(&parse(text)?);
    let wanted = events.iter().map(|event| ((*event).to_owned(), handler(event, command)));
    if there == wanted.collect::<Vec<_>>() {
        return Ok(text.to_owned());
    }
    // Old entries are removed first, because the program may have moved since.
    let without = disconnect(text)?;
    let groups: Vec<_> = events.iter().map(|event| (*event, group(event, command))).collect();
    if one_line::is_one_line(&without)
        && let Some(connected) = one_line::insert(&without, &groups)
    {
        return Ok(connected);
    }
    let root = tree(&without)?;
    let settings = root.object_value_or_set();
    let wrong = |what: &str| format!("`{what}` is not what Claude Code takes; fix it first");
    let hooks = settings.object_value_or_create("hooks").ok_or_else(|| wrong("hooks"))?;
    for (event, group) in groups {
        let groups =
            hooks.array_value_or_create(event).ok_or_else(|| wrong(&format!("hooks.{event}")))?;
        groups.append(input(&group));
    }
    Ok(ending(text, root.to_string()))
}

/// The settings without our hooks; everything else is unchanged.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(text: &str) -> Result<String, String> {
    if hooks(&parse(text)?).is_empty() {
        return Ok(text.to_owned());
    }
    let alone = match one_line::is_one_line(text) {
        true => one_line::remove(text, is_ours),
        false => text.to_owned(),
    };
    if hooks(&parse(&alone)?).is_empty() {
        return Ok(alone);
    }
    // A group that the user shares with us is left.
    let root = tree(&alone)?;
    if let Some(settings) = root.object_value()
        && let Some(hooks) = settings.object_value("hooks")
        && clear(&hooks)
        && let Some(prop) = settings.get("hooks")
    {
        prop.remove();
    }
    Ok(root.to_string())
}

/// Our hooks; `None` without any.
///
/// # Errors
/// As [`connect`].
pub fn installed(text: &str) -> Result<Option<Hooks>, String> {
    let hooks = hooks(&parse(text)?);
    let complete = EVENTS.iter().all(|event| hooks.iter().any(|(there, _)| there == event));
    let gates = hooks.iter().any(|(there, _)| there == GATE);
    let mode = if gates { HookMode::EveryCall } else { HookMode::Prompts };
    let command = hooks.first().and_then(|(_, hook)| hook.get("command")?.as_str());
    Ok(command.map(|command| Hooks {
        command: command.strip_suffix(GATE_OPTION).unwrap_or(command).to_owned(),
        mode,
        complete,
    }))
}

/// Removes our handlers from every event; returns whether nothing is left.
fn clear(hooks: &CstObject) -> bool {
    for prop in hooks.properties() {
        let Some(groups) = prop.array_value() else { continue };
        if clear_groups(&groups) && groups.elements().is_empty() {
            prop.remove();
        }
    }
    hooks.properties().is_empty()
}

/// Removes our handlers from the groups of an event; returns whether there were any.
fn clear_groups(groups: &CstArray) -> bool {
    let mut any = false;
    for group in groups.elements() {
        let handlers = group.as_object().and_then(|group| group.array_value("hooks"));
        let Some(handlers) = handlers else { continue };
        let ours: Vec<_> = handlers
            .elements()
            .into_iter()
            .filter(|handler| {
                serde_json::from_str(&handler.to_string()).is_ok_and(|handler| is_ours(&handler))
            })
            .collect();
        // Our own group goes as a whole. In a group that the user shares with us only our handler
        // goes.
        let all = ours.len() == handlers.elements().len();
        any |= !ours.is_empty();
        match (ours.is_empty(), all) {
            (true, _) => {}
            (false, true) => group.remove(),
            (false, false) => ours.into_iter().for_each(jsonc_parser::cst::CstNode::remove),
        }
    }
    any
}

/// Our handlers, by event.
fn hooks(settings: &Value) -> Vec<(String, Value)> {
    let events = settings.get("hooks").and_then(Value::as_object);
    let groups = events.into_iter().flatten().flat_map(|(event, groups)| {
        groups.as_array().into_iter().flatten().map(move |group| (event, group))
    });
    let handlers = groups.flat_map(|(event, group)| {
        let handlers = group.get("hooks").and_then(Value::as_array);
        handlers.into_iter().flatten().map(move |handler| (event.clone(), handler.clone()))
    });
    handlers.filter(|(_, handler)| is_ours(handler)).collect()
}

/// Returns whether a handler runs `countersign hook claude-code`, wherever the program is.
fn is_ours(handler: &Value) -> bool {
    let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
    let words = shlex::split(command).unwrap_or_default();
    let program = words.first().and_then(|program| program.rsplit('/').next());
    // Compared by words: an older entry may have another path, or options such as `--config`.
    let hook = words.windows(2).any(|pair| pair == ["hook", "claude-code"]);
    hook && program.is_some_and(|program| program.starts_with("countersign"))
}

fn group(event: &str, command: &str) -> Value {
    let handler = handler(event, command);
    match event {
        // Events without a tool take no matcher.
        "Stop" | "SessionEnd" => json!({"hooks": [handler]}),
        _ => json!({"matcher": "*", "hooks": [handler]}),
    }
}

fn handler(event: &str, command: &str) -> Value {
    match event {
        "PermissionRequest" => json!({
            "type": "command",
            "command": command,
            "timeout": TIMEOUT_S,
            "statusMessage": "Waiting for countersign",
        }),
        // Without `onFailure` a call runs whose hook was killed or took too long.
        GATE => json!({
            "type": "command",
            "command": format!("{command}{GATE_OPTION}"),
            "timeout": TIMEOUT_S,
            "onFailure": "block",
            "statusMessage": "Waiting for countersign",
        }),
        // `async`: these events only inform, and Claude must not wait for them.
        _ => json!({"type": "command", "command": command, "async": true}),
    }
}

/// Parses strict JSON, as Claude Code itself does. An empty file is an empty object.
fn parse(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    match serde_json::from_str(text) {
        Ok(settings @ Value::Object(_)) => Ok(settings),
        Ok(_) => Err("1:1: these settings are no object in { }".into()),
        Err(error) => {
            let what = error.to_string();
            let what = what.split(" at line").next().unwrap_or_default();
            Err(format!("{}:{}: {what}", error.line(), error.column()))
        }
    }
}

fn tree(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// Keeps the file's last line ending; a new file gets one.
fn ending(before: &str, mut after: String) -> String {
    if before.trim().is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    after
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests;
