//! Qwen Code: a hook for each of its prompts, and one for every call, which can only stop it.

use crate::{
    agent::{AgentTitle, HookEvent, HookLimit, HookMode, HookReply, Overdue, TRIAL, TRIAL_SAYS},
    description::{AgentDescription, HookText, Silence},
    hook_call::{self, EventNames, ToolDecision, ToolEvent},
    hook_files,
    json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
};
use serde_json::json;
use std::time::Duration;

const NAME: &str = "qwen";

/// The event of its prompts, in auto mode too: there it asks for what its classifier could not
/// check, and for the exact retry of what it blocked.
const PROMPT: &str = "PermissionRequest";

/// The event of every call, after its own approval.
const GATE: &str = "PreToolUse";

/// Its tools that only ask the person at the terminal; it takes no answer to them from a hook.
const ASKING: [&str; 2] = ["ask_user_question", "exit_plan_mode"];

/// Its own limit, in seconds, whatever a hook's `timeout` says.
const LIMIT_S: u64 = 60;

const SETTINGS: JsonSettings = JsonSettings {
    name: NAME,
    title: "Qwen Code",
    comments: Comments::Read,
    nesting: HookNesting::Groups,
};

/// Qwen Code.
pub const QWEN: AgentDescription = AgentDescription {
    name: NAME,
    title: AgentTitle {
        name: "Qwen Code",
        versions: "0.24.4 or newer",
        connected: "It waits 55 seconds for your answer, and its own dialog comes after that, or at \
                    once while no daemon runs. In auto mode, in which it starts, its classifier \
                    decides: what it blocks comes here when Qwen tries it again, what it lets pass \
                    does not. `qwen -p` asks nobody: --gate with --yolo brings its calls.",
    },
    program: Some("qwen"),
    home: || hook_files::folder("QWEN_HOME", ".qwen"),
    traces: &[],
    file: "settings.json",
    project: &[".qwen/settings.json"],
    hooks: HookText::Settings(SETTINGS, entries, ""),
    modes: &[HookMode::Prompts, HookMode::EveryCall],
    limit: |mode| {
        let then = if mode.is_gate() { Overdue::Runs } else { Overdue::Asks };
        let after = Duration::from_secs(LIMIT_S);
        Some(HookLimit { after, then, source: "0.24.4: its message bus, 60000" })
    },
    process_variable: None,
    sample: |session, mode| {
        json!({"hook_event_name": event(mode), "session_id": session,
            "tool_name": "run_shell_command",
            "tool_input": {"command": TRIAL, "description": TRIAL_SAYS}})
    },
    read,
    encode: |mode| if mode.is_gate() { encode_gate } else { hook_call::answer_prompt },
    // FAIL-CLOSED: Qwen runs a call whose gate fails or says nothing. It reads JSON off stderr where
    // there is none on stdout, whatever ended the hook.
    spoken: &[Silence::Undecided, Silence::Noticed, Silence::Killed],
};

fn event(mode: HookMode) -> &'static str {
    if mode.is_gate() { GATE } else { PROMPT }
}

fn entries(command: &str, mode: HookMode) -> Vec<HookEntry> {
    let entry = |event, option| {
        let handler = json!({"name": "countersign", "type": "command",
            "command": format!("{command}{option}"), "timeout": LIMIT_S});
        HookEntry { event, matcher: Some("*"), handlers: vec![handler] }
    };
    let gate = mode.is_gate().then(|| entry(GATE, " --gate"));
    [entry(PROMPT, "")].into_iter().chain(gate).collect()
}

// FAIL-CLOSED: whatever is not understood is an error or misplaced: a gate blocks it, and its dialog
// decides on a prompt.
fn read(stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
    let events: &'static [&'static str] = if mode.is_gate() { &[GATE] } else { &[PROMPT] };
    let names = EventNames { agent: NAME, fields: &["hook_event_name"], events };
    names.read(stdin, |_, request: ToolEvent| {
        if ASKING.contains(&request.tool_name.as_str()) {
            return Ok(HookEvent::Notice);
        }
        // It reads `interrupt` and does nothing with it.
        Ok(HookEvent::Wants(Box::new(request.wanted(NAME, (QWEN.encode)(mode)))))
    })
}

/// There a hook can only deny: Qwen has asked already.
fn encode_gate(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({}),
        ToolDecision::Deny { message, .. } => json!({"hookSpecificOutput": {"hookEventName": GATE,
            "permissionDecision": "deny", "permissionDecisionReason": message}}),
    })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::agent::HookAgent;

    const COMMAND: &str = "/opt/countersign hook qwen";

    fn event(name: &str, tool: &str) -> Vec<u8> {
        let event = json!({"hook_event_name": name, "session_id": "s", "cwd": "/w",
            "permission_mode": "auto", "tool_name": tool, "tool_input": {"command": "ls"}});
        event.to_string().into_bytes()
    }

    #[test]
    fn the_hooks_stand_beside_those_of_others_and_a_gate_is_one_more() {
        let theirs = "{\n  // mine\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \
                  \"a\", \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n    ]\n  \
                  }\n}\n";
        let hook = |command: &str| {
            json!({"matcher": "*", "hooks": [{"name": "countersign", "type": "command",
                "command": command, "timeout": 60}]})
        };
        for (mode, gates) in [(HookMode::Prompts, 0), (HookMode::EveryCall, 1)] {
            let connected = QWEN.connect(theirs, COMMAND, mode).unwrap();
            let settings: serde_json::Value = jsonc_parser::parse_to_serde_value(
                &connected,
                &jsonc_parser::ParseOptions::default(),
            )
            .unwrap();
            let ours = &settings["hooks"];
            assert_eq!(ours[PROMPT], json!([hook(COMMAND)]));
            let gate = &ours[GATE].as_array().unwrap()[1..];
            assert_eq!(gate, vec![hook("/opt/countersign hook qwen --gate"); gates]);
            assert!(connected.contains("// mine"), "{connected}");
            let hooks = QWEN.installed(&connected).unwrap().unwrap();
            assert_eq!((hooks.command.as_str(), hooks.mode, hooks.complete), (COMMAND, mode, true));
            assert_eq!(QWEN.disconnect(&connected), Ok(theirs.to_owned()));
        }
    }

    #[test]
    fn settings_of_a_project_that_switch_its_hooks_off_are_named() {
        let home = tempfile::tempdir().unwrap();
        let project = tempfile::tempdir().unwrap();
        let settings = home.path().join("settings.json");
        std::fs::create_dir(project.path().join(".qwen")).unwrap();
        let theirs = project.path().join(".qwen/settings.json");
        assert_eq!(QWEN.switched_off(&settings, project.path()), None);
        std::fs::write(&theirs, "{\"disableAllHooks\": true, /* why */}").unwrap();
        let expected = format!("`disableAllHooks` in {} switches all hooks off", theirs.display());
        assert_eq!(QWEN.switched_off(&settings, project.path()), Some(expected));
    }

    #[test]
    fn each_mode_reads_its_own_event_and_everything_else_is_blocked() {
        for (mode, wanted) in [(HookMode::Prompts, PROMPT), (HookMode::EveryCall, GATE)] {
            let Ok(HookEvent::Wants(request)) = read(&event(wanted, "edit"), mode) else {
                panic!()
            };
            let call = request.call("k".into(), None).unwrap();
            let said = (call.agent.as_str(), call.session.as_str(), call.tool.as_str());
            assert_eq!((said, call.cwd.as_deref()), (("qwen", "s", "edit"), Some("/w")));
            for other in [PROMPT, GATE, "PermissionDenied", "Stop", ""] {
                let read = read(&event(other, "edit"), mode);
                let misplaced = matches!(read, Ok(HookEvent::Misplaced { .. }));
                assert_eq!(misplaced, other != wanted, "{other}: {read:?}");
            }
            for asking in ASKING {
                assert!(matches!(read(&event(wanted, asking), mode), Ok(HookEvent::Notice)));
            }
            assert!(read(b"{\"hook_event_name\":\"PreToolUse\"}", HookMode::EveryCall).is_err());
        }
        assert_eq!(QWEN.noticed(), HookReply::Print(json!({})));
    }

    #[test]
    fn without_a_decision_its_dialog_decides_and_a_gate_denies_in_words() {
        assert_eq!(QWEN.undecided("no daemon", HookMode::Prompts), HookReply::Nothing);
        let denial = |why: &str| {
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
                "permissionDecision": "deny", "permissionDecisionReason": why}})
        };
        let why = "countersign could not decide on this call, so it is blocked: no daemon";
        let undecided = QWEN.undecided("no daemon", HookMode::EveryCall);
        assert_eq!(undecided, HookReply::Print(denial(why)));
        let killed =
            "countersign was stopped before it could decide on this call, so it is blocked.";
        assert_eq!(QWEN.last_words(), Some(denial(killed)));
    }
}
