//! Cline: a program that it runs before every tool, and that can only stop a call.

use crate::{
    agent::{AgentTitle, HookEvent, HookFile, HookLimit, HookMode, HookReply, Overdue, TRIAL},
    description::{AgentDescription, HookText, Silence},
    hook_call::{HookCall, ToolDecision},
    hook_files::{self, OwnFile},
};
use countersign_domain::exact_json;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

const NAME: &str = "cline";

/// Its tool for questions.
const QUESTION: &str = "ask_question";

/// The start of the program, which tells it from others.
const MARK: &str = "#!/bin/sh\n# countersign for Cline";

/// The start of the line with the command.
const COMMAND: &str = "exec ";

/// The reply where our program does not run.
const FAILED: &str =
    r#"{"cancel":true,"errorMessage":"countersign could not be run, so this call is blocked."}"#;

/// Cline.
pub const CLINE: AgentDescription = AgentDescription {
    name: NAME,
    title: AgentTitle {
        name: "Cline",
        versions: "CLI 3.0.65 or newer; the editor's by its documentation, not tried",
        connected: "This is a gate: every call passes your rules first, and without a daemon or an \
                    answer nothing runs. It can only deny, and a denial ends Cline's turn: what is \
                    approved here, Cline still asks, unless its auto-approve is on.",
    },
    program: Some("cline"),
    home: || hook_files::home("Documents/Cline"),
    traces: &[".cline"],
    file: "Hooks/PreToolUse",
    project: &[],
    hooks: HookText::Own(OwnFile { name: NAME, kind: HookFile::OwnProgram, text, command }),
    modes: &[HookMode::EveryCall],
    // No setting changes it.
    limit: |_| {
        let after = Duration::from_secs(120);
        let source = "CLI 3.0.65: toolCallTimeoutMs, 120000";
        Some(HookLimit { after, then: Overdue::Runs, source })
    },
    // The program sets it: a shell stands between Cline and us.
    process_variable: Some("COUNTERSIGN_AGENT_PID"),
    sample: |session, _| {
        let call = json!({"toolName": "execute_command", "parameters": {"command": TRIAL}});
        json!({"hookName": "PreToolUse", "taskId": session, "preToolUse": call})
    },
    read: |stdin, _| read(stdin),
    encode: |_| encode,
    // FAIL-CLOSED: Cline runs a call whose hook fails or says nothing, whatever its exit code; and
    // our program cancels a call of which nothing is said.
    spoken: &[Silence::Undecided, Silence::Noticed],
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClineRequest {
    task_id: String,
    #[serde(default)]
    workspace_roots: Vec<String>,
    pre_tool_use: ToolUse,
    #[serde(rename = "tool_call")]
    tool_call: Option<ClineCall>,
}

/// The call as the model made it. Under `preToolUse` its lists are texts.
#[derive(Deserialize)]
struct ClineCall {
    name: String,
    #[serde(default)]
    input: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse {
    tool_name: String,
    #[serde(default)]
    parameters: Value,
}

// FAIL-CLOSED: whatever is not understood is an error, and that blocks.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    let request: ClineRequest = exact_json::from_slice(stdin)
        .map_err(|error| format!("stdin is not what Cline writes before a tool: {error}"))?;
    let ToolUse { tool_name, parameters } = request.pre_tool_use;
    let (tool, args) = match request.tool_call {
        Some(call) if call.name != tool_name => {
            return Err("Cline names two tools for one call".to_owned());
        }
        Some(call) => shell(call.name, call.input),
        None => (tool_name, parameters),
    };
    // It only asks the person at the terminal, and takes no answer from here.
    if tool == QUESTION {
        return Ok(HookEvent::Notice);
    }
    let cwd = request.workspace_roots.into_iter().next();
    let call = HookCall::new(NAME, request.task_id, cwd, (tool, args), encode);
    Ok(HookEvent::Wants(Box::new(call)))
}

/// A list of commands as one command of several lines, which rules know how to read.
fn shell(tool: String, mut input: Value) -> (String, Value) {
    let commands = input.get("commands").and_then(Value::as_array);
    let commands: Option<Vec<_>> = commands.and_then(|all| all.iter().map(Value::as_str).collect());
    let command = commands.filter(|all| !all.is_empty()).map(|all| all.join("\n"));
    match (tool.as_str(), command, input.as_object_mut()) {
        ("run_commands", Some(command), Some(fields)) if !fields.contains_key("command") => {
            fields.remove("commands");
            fields.insert("command".to_owned(), command.into());
            ("execute_command".to_owned(), input)
        }
        _ => (tool, input),
    }
}

fn encode(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"cancel": false}),
        ToolDecision::Deny { message, .. } => json!({"cancel": true, "errorMessage": message}),
    })
}

fn text(command: &str) -> Result<String, String> {
    Ok(format!(
        "{MARK}: it decides on every call. `countersign connect cline` makes this file,\n\
         # `countersign disconnect cline` removes it.\n\
         # Cline runs a call whose hook fails or says nothing, so every failure cancels the call.\n\
         trap '' HUP INT TERM\nexport COUNTERSIGN_AGENT_PID=$PPID\nsaid=$(\n{COMMAND}{command}\n) && \
         [ -n \"$said\" ] && printf '%s\\n' \"$said\" && exit 0\n\
         printf '%s\\n' '{FAILED}'\n"
    ))
}

fn command(text: &str) -> Option<String> {
    let line = || text.lines().find_map(|line| line.strip_prefix(COMMAND));
    text.starts_with(MARK).then(line)?.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::agent::HookAgent;

    const COMMAND: &str = "'/opt/my bin/countersign' hook cline";

    #[test]
    fn the_program_runs_our_hook_and_is_removed_only_if_it_is_ours() {
        let text = CLINE.connect("", COMMAND, HookMode::EveryCall).unwrap();
        assert!(text.starts_with("#!/bin/sh\n"), "{text}");
        assert!(text.lines().any(|line| line == format!("exec {COMMAND}")), "{text}");
        assert_eq!(CLINE.disconnect(&text), Ok(String::new()));
        let theirs = "#!/bin/sh\nexec countersign hook cline\n";
        assert!(CLINE.connect(theirs, COMMAND, HookMode::EveryCall).is_err());
        assert_eq!(CLINE.disconnect(theirs), Ok(theirs.to_owned()));
    }

    #[test]
    fn a_call_is_cancelled_with_the_reason_and_without_a_decision() {
        let event = json!({"hookName": "PreToolUse", "taskId": "t", "workspaceRoots": ["/w"],
        "preToolUse": {"toolName": "execute_command", "parameters": {"command": "ls"}}});
        let Ok(HookEvent::Wants(request)) = read(event.to_string().as_bytes()) else { panic!() };
        let call = request.call("k".into(), None).unwrap();
        let said = (call.session.as_str(), call.tool.as_str(), call.cwd.as_deref());
        assert_eq!(said, ("t", "execute_command", Some("/w")));
        let deny = ToolDecision::Deny { message: "Denied by Ana".into(), stop: false };
        let cancelled = json!({"cancel": true, "errorMessage": "Denied by Ana"});
        assert_eq!(encode(&deny), HookReply::Print(cancelled));
        assert_eq!(encode(&ToolDecision::Allow), HookReply::Print(json!({"cancel": false})));
        let HookReply::Print(undecided) = CLINE.undecided("no daemon", HookMode::EveryCall) else {
            panic!()
        };
        assert_eq!(undecided.get("cancel"), Some(&json!(true)));
        assert!(read(b"{}").is_err());
    }

    fn call(name: &str, input: &Value) -> Result<(String, Value), String> {
        let event = json!({"hookName": "tool_call", "taskId": "t", "workspaceRoots": ["/w"],
        "tool_call": {"id": "call_1", "name": name, "input": input},
        "preToolUse": {"toolName": "run_commands", "parameters": {"commands": "[\"ls\"]"}}});
        match read(event.to_string().as_bytes())? {
            HookEvent::Wants(request) => {
                let call = request.call("k".into(), None).unwrap();
                Ok((call.tool, call.args))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn commands_are_read_as_the_model_gave_them_and_as_rules_know_them() {
        let shell = |args: Value| Ok(("execute_command".to_owned(), args));
        let given = json!({"commands": ["cd a", "rm -rf b"], "timeout": 5});
        assert_eq!(
            call("run_commands", &given),
            shell(json!({"command": "cd a\nrm -rf b", "timeout": 5}))
        );
        // What is no list of texts stays as it is, and is asked about.
        for odd in [
            json!({"commands": "ls"}),
            json!({"commands": ["ls", 7]}),
            json!({"commands": []}),
            json!({"commands": ["rm"], "command": "ls"}),
            json!(["ls"]),
        ] {
            assert_eq!(call("run_commands", &odd), Ok(("run_commands".to_owned(), odd)));
        }
        let two = "Cline names two tools for one call";
        assert_eq!(call("read_files", &json!({})), Err(two.to_owned()));
    }

    #[test]
    fn a_question_stays_in_the_terminal_and_only_where_both_names_say_that_it_is_one() {
        let event = |tool: &str, name: &str| {
            let event = json!({"hookName": "tool_call", "taskId": "t",
            "tool_call": {"id": "call_1", "name": name, "input": {"question": "Which?"}},
            "preToolUse": {"toolName": tool, "parameters": {"question": "Which?"}}});
            read(event.to_string().as_bytes())
        };
        assert!(matches!(event(QUESTION, QUESTION), Ok(HookEvent::Notice)));
        assert_eq!(CLINE.noticed(), HookReply::Print(json!({"cancel": false})));
        let two = "Cline names two tools for one call";
        for (tool, name) in [(QUESTION, "run_commands"), ("run_commands", QUESTION)] {
            assert_eq!(event(tool, name).map(|_| ()), Err(two.to_owned()));
        }
        assert!(matches!(event("srv__ask_question", "srv__ask_question"), Ok(HookEvent::Wants(_))));
    }
}
