#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
use super::*;

const COMMAND: &str = "/opt/countersign hook claude-code";

const THEIRS: &str = r#"{
    "permissions": { "allow": ["Bash(git diff *)"] },
    "hooks": {
        "PostToolUse": [
            { "matcher": "Edit", "hooks": [{ "type": "command", "command": "fmt" }] }
        ]
    },
    "model": "opus", "future": null
}
"#;

#[test]
fn a_new_file_holds_exactly_our_hooks() {
    let over = json!([{"matcher": "*", "hooks": [
            {"type": "command", "command": COMMAND, "async": true}]}]);
    let end = json!([{"hooks": [{"type": "command", "command": COMMAND, "async": true}]}]);
    let expected = json!({"hooks": {
        "PermissionRequest": [{"matcher": "*", "hooks": [{
            "type": "command", "command": COMMAND, "timeout": 86400,
            "statusMessage": "Waiting for countersign"}]}],
        "PostToolUse": over, "PostToolUseFailure": over, "Stop": end, "SessionEnd": end,
        // What auto mode blocked: one of both hooks ends at once.
        "PermissionDenied": [{"matcher": "*", "hooks": [
            {"type": "command", "command": COMMAND, "timeout": 86400,
                "statusMessage": "Asking countersign about what auto mode blocked"},
            {"type": "command", "command": format!("{COMMAND} --wake"), "timeout": 86400,
                "async": true, "asyncRewake": true}]}],
        "PreToolUse": [{"matcher": "*", "hooks": [
            {"type": "command", "command": format!("{COMMAND} --ahead"), "timeout": 10}]}],
    }});
    let text = connect("", COMMAND, HookMode::Prompts).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    assert!(text.ends_with("}\n"), "{text}");
    let hooks = Hooks { command: COMMAND.into(), mode: HookMode::Prompts, complete: true };
    assert_eq!(installed(&text), Ok(Some(hooks)));
}

#[test]
fn what_is_there_stays_and_disconnect_gives_it_back_to_the_letter() {
    let connected = connect(THEIRS, COMMAND, HookMode::Prompts).unwrap();
    insta::assert_snapshot!(connected);
    assert_eq!(disconnect(&connected), Ok(THEIRS.to_owned()));
    assert_eq!(connect(&connected, COMMAND, HookMode::Prompts), Ok(connected));
}

#[test]
fn a_hook_that_moved_is_replaced_and_not_doubled() {
    let old = connect(THEIRS, "'/home/ana/my bin/countersign' hook claude-code", HookMode::Prompts)
        .unwrap();
    let new = connect(&old, COMMAND, HookMode::Prompts).unwrap();
    assert_eq!(new, connect(THEIRS, COMMAND, HookMode::Prompts).unwrap());
}

#[test]
fn only_our_own_hooks_are_taken_out() {
    let hook = |command: &str| json!({"type": "command", "command": command});
    let mixed = json!({"hooks": {"Stop": [
            {"hooks": [hook("say done"), hook("countersign hook claude-code")]},
            {"hooks": [hook("echo countersign hook claude-code")]}]}});
    let mixed = mixed.to_string();
    let left = json!({"hooks":{"Stop":[
            {"hooks":[{"type":"command","command":"say done"}]},
            {"hooks":[{"type":"command","command":"echo countersign hook claude-code"}]}]}});
    let text = disconnect(&mixed).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), left);
    assert_eq!(installed(&mixed).unwrap().map(|hooks| hooks.complete), Some(false));
    assert_eq!(installed(&text), Ok(None));
}

#[test]
fn what_does_not_parse_is_refused_with_its_place() {
    for (text, place) in [
        ("{\n  // mine\n}", "2:3: key must be a string"),
        ("{\"a\": 1,}", "1:9: trailing comma"),
        ("[]", "1:1: these settings are not an object in { }"),
        ("{\"hooks\": 5}", "`hooks` is not valid in the settings of Claude Code; fix it first"),
        (
            "{\"hooks\": {\"Stop\": {}}}",
            "`hooks.Stop` is not valid in the settings of Claude Code; fix it first",
        ),
    ] {
        assert_eq!(connect(text, COMMAND, HookMode::Prompts), Err(place.into()), "{text}");
    }
}

#[test]
fn settings_on_one_line_stay_on_it_and_come_back_to_the_byte() {
    for theirs in [
        r#"{"model":"opus"}"#,
        "{ \"model\": \"opus\" }\n",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"beep"}]}]},"a":[1, 2]}"#,
        r#"{ "a": {}, "hooks": { "Other": [ {"hooks": []} ] } }"#,
        " {\t\"ü\" : null }",
    ] {
        let connected = connect(theirs, COMMAND, HookMode::Prompts).unwrap();
        assert_eq!(connected.trim().lines().count(), 1, "{connected}");
        assert!(installed(&connected).unwrap().is_some_and(|hooks| hooks.complete));
        assert_eq!(connect(&connected, COMMAND, HookMode::Prompts), Ok(connected.clone()));
        assert_eq!(disconnect(&connected), Ok(theirs.to_owned()));
    }
    let connected = connect(r#"{"a":1}"#, COMMAND, HookMode::Prompts).unwrap();
    let spaced = connected.replace("]},\"a\"", "]} , \"a\"");
    assert_eq!(disconnect(&spaced), Ok(r#"{ "a":1}"#.to_owned()));
}

#[test]
fn a_gate_is_one_more_hook_that_blocks_when_it_fails_and_goes_as_it_came() {
    let gate = json!([{"matcher": "*", "hooks": [{
        "type": "command", "command": format!("{COMMAND} --gate"), "timeout": 86400,
        "onFailure": "block", "statusMessage": "Waiting for countersign"}]}]);
    let gated = connect(THEIRS, COMMAND, HookMode::EveryCall).unwrap();
    let settings: Value = serde_json::from_str(&gated).unwrap();
    assert_eq!(settings["hooks"]["PreToolUse"], gate);
    let hooks = Hooks { command: COMMAND.into(), mode: HookMode::EveryCall, complete: true };
    assert_eq!(installed(&gated), Ok(Some(hooks)));
    assert_eq!(connect(&gated, COMMAND, HookMode::EveryCall), Ok(gated.clone()));
    let prompts = connect(&gated, COMMAND, HookMode::Prompts).unwrap();
    assert_eq!(prompts, connect(THEIRS, COMMAND, HookMode::Prompts).unwrap());
    assert_eq!(disconnect(&gated), Ok(THEIRS.to_owned()));
}

#[test]
fn each_mode_has_its_own_commands_and_is_known_again_by_them() {
    let commands = |text: &str, event: &str| {
        let settings: Value = serde_json::from_str(text).unwrap();
        let handlers = settings["hooks"][event][0]["hooks"].as_array().unwrap().clone();
        let option = |it: &Value| {
            it["command"].as_str().unwrap().strip_prefix(COMMAND).unwrap().trim().to_owned()
        };
        handlers.iter().map(option).collect::<Vec<_>>()
    };
    for (mode, prompt, blocked, before) in [
        (HookMode::Prompts, "", ["", "--wake"], "--ahead"),
        (HookMode::EveryCall, "", ["", "--wake"], "--gate"),
        (HookMode::RuledCalls, "", ["", "--wake"], "--gate=ask"),
        (HookMode::Dialogs, "--gate=dialog", ["", "--wake"], "--ahead"),
        (HookMode::Blocks, "--ahead", ["--appeals", "--appeals --wake"], "--ahead"),
    ] {
        let text = connect(THEIRS, COMMAND, mode).unwrap();
        assert_eq!(commands(&text, "PermissionRequest"), [prompt], "{mode:?}");
        assert_eq!(commands(&text, "PermissionDenied"), blocked, "{mode:?}");
        assert_eq!(commands(&text, "PreToolUse"), [before], "{mode:?}");
        let hooks = Hooks { command: COMMAND.into(), mode, complete: true };
        assert_eq!(installed(&text), Ok(Some(hooks)));
        assert_eq!(connect(&text, COMMAND, mode), Ok(text.clone()));
        assert_eq!(disconnect(&text), Ok(THEIRS.to_owned()));
    }
}

#[test]
fn a_rule_that_asks_for_every_call_comes_and_goes_with_its_mode_and_a_persons_own_stays() {
    let rules = |text: &str| {
        let settings: Value = serde_json::from_str(text).unwrap();
        settings.pointer("/permissions/ask").cloned().unwrap_or_default()
    };
    for (theirs, with) in [
        (THEIRS.to_owned(), json!(["*"])),
        (THEIRS.replace("allow", "ask"), json!(["*", "Bash(git diff *)"])),
        (
            THEIRS.replace("\"allow\": [\"Bash(git diff *)\"]", "\"ask\": [\"*\"]"),
            json!(["*", "*"]),
        ),
    ] {
        let own = rules(&theirs);
        let dialogs = connect(&theirs, COMMAND, HookMode::Dialogs).unwrap();
        assert_eq!(rules(&dialogs), with);
        assert_eq!(connect(&dialogs, COMMAND, HookMode::Dialogs), Ok(dialogs.clone()));
        let moved = connect(&dialogs, "/new/countersign hook claude-code", HookMode::Dialogs);
        assert_eq!(rules(&moved.unwrap()), with);
        let gated = connect(&dialogs, COMMAND, HookMode::EveryCall).unwrap();
        assert_eq!((rules(&gated), installed(&gated).unwrap().unwrap().complete), (own, true));
        let again = connect(&gated, COMMAND, HookMode::Dialogs).unwrap();
        assert_eq!(rules(&again), with);
        assert_eq!(disconnect(&dialogs), Ok(theirs));
    }
    // A person took it out: `doctor` says so, and `connect` brings it back.
    let dialogs = connect("", COMMAND, HookMode::Dialogs).unwrap();
    let without = dialogs.replace("\"*\"]", "]");
    assert_ne!(without, dialogs);
    assert!(!installed(&without).unwrap().unwrap().complete);
    assert_eq!(rules(&connect(&without, COMMAND, HookMode::Dialogs).unwrap()), json!(["*"]));
    // Without our hooks it is the person's.
    let alone = r#"{"permissions":{"ask":["*"]}}"#;
    assert_eq!(disconnect(alone), Ok(alone.to_owned()));
}
