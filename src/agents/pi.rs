//! pi: an extension that starts our hook before every tool.

use super::{
    agent::{
        AgentTitle, HookAgent, HookEvent, HookFile, HookMode, HookReply, Hooks, TRIAL, TRIAL_SAYS,
    },
    home,
    hook_call::{HookCall, ToolDecision},
    own_file::{OwnFile, with_words, words_in},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

const NAME: &str = "pi";

const EXTENSION: &str = include_str!("../../config/pi/countersign.js");

/// The start of the extension, which tells it from others.
const MARK: &str = "// countersign for pi";

/// The start of the line with the command.
const COMMAND: &str = "const COMMAND = ";

const FILE: OwnFile = OwnFile { name: NAME, mode: HookMode::EveryCall, text, command };

/// pi.
#[derive(Debug, Clone, Copy)]
pub struct Pi;

impl HookAgent for Pi {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> AgentTitle {
        AgentTitle {
            name: "pi",
            versions: "0.73 or newer",
            connected: "pi itself never asks. Every call passes your rules first, and without a \
                        daemon or an answer nothing runs.",
        }
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        Ok(folder()?.join("extensions/countersign.js"))
    }

    fn hook_file(&self) -> HookFile {
        HookFile::Own
    }

    fn modes(&self) -> &'static [HookMode] {
        &[HookMode::EveryCall]
    }

    // No program: on some machines another one has this short name.
    fn detect(&self) -> bool {
        folder().is_ok_and(|folder| folder.exists())
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
        Some(json!({"type": "tool_call", "session": session, "tool": "bash",
            "input": {"command": TRIAL, "description": TRIAL_SAYS}}))
    }

    fn decode(&self, stdin: &[u8], _mode: HookMode) -> Result<HookEvent, String> {
        read(stdin)
    }

    fn undecided(&self, why: &str, _mode: HookMode) -> HookReply {
        let message = format!("countersign could not decide on this call, so it is blocked: {why}");
        encode(&ToolDecision::Deny { message, stop: false })
    }
}

#[derive(Deserialize)]
struct PiCall {
    session: String,
    #[serde(default)]
    cwd: Option<String>,
    tool: String,
    #[serde(default)]
    input: Value,
}

// FAIL-CLOSED: whatever is not understood is an error, and that blocks.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    let call: PiCall = serde_json::from_slice(stdin)
        .map_err(|error| format!("stdin is not what the extension writes: {error}"))?;
    Ok(HookEvent::Wants(Box::new(HookCall {
        agent: NAME,
        session: call.session,
        cwd: call.cwd,
        tool: call.tool,
        args: call.input,
        accepts: Vec::new(),
        encode,
    })))
}

fn encode(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"block": false}),
        ToolDecision::Deny { message, .. } => json!({"block": true, "reason": message}),
    })
}

fn folder() -> Result<PathBuf, String> {
    home::folder("PI_CODING_AGENT_DIR", ".pi/agent")
}

fn text(command: &str) -> Result<String, String> {
    with_words(EXTENSION, COMMAND, command)
}

fn command(text: &str) -> Option<String> {
    text.starts_with(MARK).then(|| words_in(text, COMMAND))?
}

#[cfg(test)]
mod tests;
