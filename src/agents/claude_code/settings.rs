//! Our entries in Claude Code's settings file.

use super::{
    super::{
        agent::{A_DAY_S, HookMode, Hooks},
        json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
    },
    ask_rule,
};
use serde_json::{Value, json};

/// The events that we hook. The first is decided; the others report that a call is over.
const EVENTS: [&str; 5] =
    ["PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd"];
/// The event of every call, before it runs.
const GATE: &str = "PreToolUse";
/// The option of a hook that only lets a retry run that a person released.
const AHEAD: &str = "--ahead";
/// The event of a call that auto mode blocked, and the option of the hook that does not hold up a
/// terminal while a person thinks about it. Of both hooks one ends at once.
const BLOCKED: &str = "PermissionDenied";
const WAKE: &str = "--wake";
/// What Claude Code shows while a hook waits.
const WAITING: &str = "Waiting for countersign";
/// The modes whose option is part of a hook's command.
const CHOSEN: [HookMode; 4] =
    [HookMode::EveryCall, HookMode::RuledCalls, HookMode::Blocks, HookMode::Dialogs];

pub(super) const SETTINGS: JsonSettings = JsonSettings {
    name: super::NAME,
    title: "Claude Code",
    comments: Comments::Refused,
    nesting: HookNesting::Groups,
};

/// The settings with our hooks, which run `command`. Existing hooks of ours are replaced;
/// everything else is unchanged, including order and layout.
///
/// # Errors
/// A sentence with line and column, if the text is not valid for Claude Code.
pub fn connect(text: &str, command: &str, mode: HookMode) -> Result<String, String> {
    let entry = |event, handlers| HookEntry {
        event,
        // Events without a tool take no matcher.
        matcher: Some("*").filter(|_| !matches!(event, "Stop" | "SessionEnd")),
        handlers,
    };
    let with = |options: &[Option<&str>]| {
        let options = options.iter().flatten().map(|option| format!(" {option}"));
        command.to_owned() + &options.collect::<String>()
    };
    let ahead = with(&[Some(AHEAD)]);
    let of_blocks = mode.option().filter(|_| mode == HookMode::Blocks);
    let of_dialogs = mode.option().filter(|_| mode == HookMode::Dialogs);
    let told = EVENTS.map(|event| match event {
        "PermissionRequest" if mode == HookMode::Blocks => entry(event, vec![quick(&ahead)]),
        "PermissionRequest" => {
            let waits = json!({"timeout": A_DAY_S, "statusMessage": WAITING});
            entry(event, vec![handler(&with(&[of_dialogs]), &waits)])
        }
        // `async`: these events only inform, and Claude must not wait for them.
        _ => entry(event, vec![handler(command, &json!({"async": true}))]),
    });
    let mut entries = Vec::from(told);
    let asking = "Asking countersign about what auto mode blocked";
    let waits = json!({"timeout": A_DAY_S, "statusMessage": asking});
    let wakes = json!({"timeout": A_DAY_S, "async": true, "asyncRewake": true});
    let waiting = handler(&with(&[of_blocks]), &waits);
    let waking = handler(&with(&[of_blocks, Some(WAKE)]), &wakes);
    entries.push(entry(BLOCKED, vec![waiting, waking]));
    let before = if mode.is_gate() { gate(&with(&[mode.option()])) } else { quick(&ahead) };
    entries.push(entry(GATE, vec![before]));
    let connected = SETTINGS.connect(text, &entries)?;
    let had = brought_rule(text)?;
    let wants = mode == HookMode::Dialogs;
    if wants && !(had && ask_rule::is_there(&connected)) {
        ask_rule::add(&connected)
    } else if had && !wants {
        Ok(ask_rule::without(&connected))
    } else {
        Ok(connected)
    }
}

/// Whether one of the rules that have Claude ask for every call is ours: our hooks say so, because
/// a person may have written the same.
fn brought_rule(text: &str) -> Result<bool, String> {
    Ok(installed(text)?.is_some_and(|hooks| hooks.mode == HookMode::Dialogs))
}

/// These settings of one run with a hook of every call that runs `command`.
///
/// # Errors
/// A sentence where the settings do not parse or hold something unexpected.
pub fn gated(text: &str, command: &str) -> Result<String, String> {
    let handlers = vec![gate(command)];
    SETTINGS.connect(text, &[HookEntry { event: GATE, matcher: Some("*"), handlers }])
}

/// The settings without our hooks; everything else is unchanged.
///
/// # Errors
/// As [`connect`].
pub fn disconnect(text: &str) -> Result<String, String> {
    if brought_rule(text)? {
        return SETTINGS.disconnect(&ask_rule::without(text));
    }
    SETTINGS.disconnect(text)
}

/// Our hooks; `None` without any.
///
/// # Errors
/// As [`connect`].
pub fn installed(text: &str) -> Result<Option<Hooks>, String> {
    let hooks = SETTINGS.hooks(text)?;
    let all = EVENTS.into_iter().chain([BLOCKED, GATE]);
    let complete = all.into_iter().all(|event| hooks.iter().any(|(there, _)| there == event));
    let commands = || hooks.iter().filter_map(|(_, hook)| hook.get("command")?.as_str());
    let has = |mode: &HookMode| {
        let option = mode.option().unwrap_or_default();
        commands().any(|command| command.split(' ').any(|word| word == option))
    };
    let mode = CHOSEN.into_iter().find(has).unwrap_or_default();
    let complete = complete && (mode != HookMode::Dialogs || ask_rule::is_there(text));
    Ok(commands().next().map(|command| Hooks { command: bare(command), mode, complete }))
}

/// A hook's command without the options that tell the hooks apart.
fn bare(command: &str) -> String {
    let own = CHOSEN.into_iter().filter_map(HookMode::option).chain([AHEAD, WAKE]);
    let own: Vec<&str> = own.collect();
    let mut bare = command;
    while let Some((rest, last)) = bare.rsplit_once(' ')
        && own.contains(&last)
    {
        bare = rest;
    }
    bare.to_owned()
}

/// The commands of other programs that decide on Claude Code's prompts.
pub fn others(text: &str) -> Vec<String> {
    SETTINGS.others(text, EVENTS[0])
}

/// A hook of ours, with these fields beside its command.
fn handler(command: &str, fields: &Value) -> Value {
    let mut handler = json!({"type": "command", "command": command});
    if let (Some(all), Some(fields)) = (handler.as_object_mut(), fields.as_object()) {
        all.extend(fields.clone());
    }
    handler
}

fn gate(command: &str) -> Value {
    // Without `onFailure` a call runs whose hook was killed or took too long.
    handler(command, &json!({"timeout": A_DAY_S, "onFailure": "block", "statusMessage": WAITING}))
}

/// Ends at once: it only looks whether a person released this call.
fn quick(command: &str) -> Value {
    handler(command, &json!({"timeout": 10}))
}

#[cfg(test)]
mod tests;
