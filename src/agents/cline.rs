//! Cline: a program that it runs before every tool, and that can only stop a call. Known from its
//! documentation only.

use super::{
    agent::{AgentTitle, HookAgent, HookEvent, HookFile, HookMode, HookReply, Hooks, TRIAL},
    home,
    hook_call::{HookCall, ToolDecision},
    own_file::OwnFile,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

const NAME: &str = "cline";

/// The start of the program, which tells it from others.
const MARK: &str = "#!/bin/sh\n# countersign for Cline";

/// The start of the line with the command.
const COMMAND: &str = "exec ";

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
            versions: "with hooks, by its documentation; not tried",
            connected: "This is a gate: every call passes your rules first, and without a daemon \
                        or an answer nothing runs. It can only deny: what is approved here, Cline \
                        still asks in the editor, unless its auto-approve is on.",
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

    fn detect(&self) -> bool {
        home::home("Documents/Cline").is_ok_and(|folder| folder.exists())
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
    let request: ClineRequest = serde_json::from_slice(stdin)
        .map_err(|error| format!("stdin is not what Cline writes before a tool: {error}"))?;
    Ok(HookEvent::Wants(Box::new(HookCall {
        agent: NAME,
        session: request.task_id,
        cwd: request.workspace_roots.into_iter().next(),
        tool: request.pre_tool_use.tool_name,
        args: request.pre_tool_use.parameters,
        accepts: Vec::new(),
        encode,
    })))
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
         # `countersign disconnect cline` removes it.\n{COMMAND}{command}\n"
    ))
}

fn command(text: &str) -> Option<String> {
    let line = || text.lines().find_map(|line| line.strip_prefix(COMMAND));
    text.starts_with(MARK).then(line)?.map(str::to_owned)
}

#[cfg(test)]
mod tests;
