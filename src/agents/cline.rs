//! Cline: a program that it runs before every tool, and that can only stop a call.

use super::{
    agent::{
        AgentTitle, HookAgent, HookEvent, HookFile, HookLimit, HookMode, HookReply, Hooks, Overdue,
        TRIAL,
    },
    home,
    hook_call::{HookCall, ToolDecision},
    own_file::OwnFile,
};
use countersign_domain::exact_json;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

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

const FILE: OwnFile = OwnFile { name: NAME, mode: HookMode::EveryCall, text, command };

/// Cline.
#[derive(Debug, Clone, Copy)]
pub struct Cline;

impl HookAgent for Cline {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> AgentTitle {
        AgentTitle {
            name: "Cline",
            versions: "CLI 3.0.65 or newer; the editor's by its documentation, not tried",
            connected: "This is a gate: every call passes your rules first, and without a daemon \
                        or an answer nothing runs. It can only deny, and a denial ends Cline's \
                        turn: what is approved here, Cline still asks, unless its auto-approve is \
                        on.",
        }
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        home::home("Documents/Cline/Hooks/PreToolUse")
    }

    fn hook_file(&self) -> HookFile {
        HookFile::OwnProgram
    }

    fn modes(&self) -> &'static [HookMode] {
        &[HookMode::EveryCall]
    }

    fn program(&self) -> Option<&'static str> {
        Some("cline")
    }

    fn detect(&self) -> bool {
        let is_there = |name| home::home(name).is_ok_and(|folder| folder.exists());
        is_there("Documents/Cline") || is_there(".cline")
    }

    fn connect(&self, text: &str, command: &str, _mode: HookMode) -> Result<String, String> {
        FILE.connect(text, command)
    }

    fn disconnect(&self, text: &str) -> Result<String, String> {
        Ok(FILE.disconnect(text))
    }

    fn installed(&self, text: &str) -> Result<Option<Hooks>, String> {
        Ok(FILE.installed(text))
    }

    fn sample(&self, session: &str, _mode: HookMode) -> Option<Value> {
        Some(json!({"hookName": "PreToolUse", "taskId": session, "preToolUse": {
            "toolName": "execute_command", "parameters": {"command": TRIAL}}}))
    }

    fn decode(&self, stdin: &[u8], _mode: HookMode) -> Result<HookEvent, String> {
        read(stdin)
    }

    // No setting changes it.
    fn limit(&self, _mode: HookMode) -> Option<HookLimit> {
        let (after, source) = (Duration::from_secs(120), "CLI 3.0.65: toolCallTimeoutMs, 120000");
        Some(HookLimit { after, then: Overdue::Runs, source })
    }

    // The program sets it: a shell stands between Cline and us.
    fn process_variable(&self) -> Option<&'static str> {
        Some("COUNTERSIGN_AGENT_PID")
    }

    // Our program cancels a call of which nothing is said.
    fn noticed(&self) -> HookReply {
        encode(&ToolDecision::Allow)
    }

    // FAIL-CLOSED: Cline runs a call whose hook fails or says nothing, whatever its exit code.
    fn undecided(&self, why: &str, _mode: HookMode) -> HookReply {
        encode(&ToolDecision::Deny {
            message: format!("countersign could not decide on this call, so it is blocked: {why}"),
            stop: false,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClineRequest {
    task_id: String,
    #[serde(default)]
    workspace_roots: Vec<String>,
    pre_tool_use: ToolUse,
    #[serde(default, rename = "tool_call")]
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
    Ok(HookEvent::Wants(Box::new(HookCall {
        agent: NAME,
        session: request.task_id,
        cwd: request.workspace_roots.into_iter().next(),
        tool,
        args,
        accepts: Vec::new(),
        journal: None,
        encode,
    })))
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
mod tests;
