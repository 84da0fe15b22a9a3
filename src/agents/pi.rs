//! pi, and oh-my-pi, which was made from it: an extension that starts our hook before every tool.

mod declaration;

use super::{
    agent::{
        A_DAY_S, AgentTitle, HookAgent, HookEvent, HookFile, HookLimit, HookMode, HookReply,
        HookRequest, Hooks, Overdue, TRIAL, TRIAL_SAYS,
    },
    home,
    hook_call::{HookCall, ToolDecision},
    own_file::{OwnFile, with_words, words_in},
};
use countersign_client::Decided;
use countersign_domain::{call::Call, exact_json};
use declaration::ToolDeclaration;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{path::PathBuf, time::Duration};

const EXTENSION: &str = include_str!("../../config/pi/countersign.js");

/// The start of the extension, which tells it from others.
const MARK: &str = "// countersign for pi";

/// The start of the line with the command.
const COMMAND: &str = "const COMMAND = ";

/// pi and its relative. Both load the same extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pi {
    /// pi.
    Pi,
    /// oh-my-pi.
    OhMyPi,
}

impl Pi {
    const fn id(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::OhMyPi => "oh-my-pi",
        }
    }

    const fn file(self) -> OwnFile {
        OwnFile { name: self.id(), mode: HookMode::EveryCall, text, command }
    }

    fn folder(self) -> Result<PathBuf, String> {
        let home = match (self, home::named("PI_CONFIG_DIR")) {
            (Self::Pi, _) => ".pi/agent".into(),
            (Self::OhMyPi, None) => ".omp/agent".into(),
            (Self::OhMyPi, Some(folder)) => folder.join("agent"),
        };
        match home::named("PI_CODING_AGENT_DIR") {
            Some(folder) => Ok(folder),
            None => Ok(home::home("")?.join(home)),
        }
    }
}

impl HookAgent for Pi {
    fn name(&self) -> &'static str {
        self.id()
    }

    fn title(&self) -> AgentTitle {
        match self {
            Self::Pi => AgentTitle {
                name: "pi",
                versions: "0.73 or newer",
                connected: "pi itself never asks. Every call passes your rules first, and without \
                            a daemon or an answer nothing runs.",
            },
            Self::OhMyPi => AgentTitle {
                name: "oh-my-pi",
                versions: "18.2 or newer",
                connected: "Every call passes your rules first, those of subagents too, and \
                            without a daemon or an answer nothing runs. Its own prompts, where \
                            its settings want any, come after an approval; `omp --auto-approve` \
                            has none.",
            },
        }
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        Ok(self.folder()?.join("extensions/countersign.js"))
    }

    fn hook_file(&self) -> HookFile {
        HookFile::Own
    }

    fn modes(&self) -> &'static [HookMode] {
        &[HookMode::EveryCall]
    }

    fn program(&self) -> Option<&'static str> {
        match self {
            // On some machines another program has this short name.
            Self::Pi => None,
            Self::OhMyPi => Some("omp"),
        }
    }

    fn detect(&self) -> bool {
        self.folder().is_ok_and(|folder| folder.exists())
    }

    fn connect(&self, text: &str, command: &str, _mode: HookMode) -> Result<String, String> {
        self.file().connect(text, command)
    }

    fn disconnect(&self, text: &str) -> Result<String, String> {
        Ok(self.file().disconnect(text))
    }

    fn installed(&self, text: &str) -> Result<Option<Hooks>, String> {
        Ok(self.file().installed(text))
    }

    fn sample(&self, session: &str, _mode: HookMode) -> Option<Value> {
        Some(json!({"type": "tool_call", "session": session, "tool": "bash",
            "input": {"command": TRIAL, "description": TRIAL_SAYS}}))
    }

    fn limit(&self, _mode: HookMode) -> Option<HookLimit> {
        let (after, source) = (Duration::from_secs(A_DAY_S), "the extension sets it");
        match self {
            Self::Pi => None,
            Self::OhMyPi => Some(HookLimit { after, then: Overdue::Blocks, source }),
        }
    }

    fn decode(&self, stdin: &[u8], _mode: HookMode) -> Result<HookEvent, String> {
        read(*self, stdin)
    }

    fn undecided(&self, why: &str, _mode: HookMode) -> HookReply {
        let message = format!("countersign could not decide on this call, so it is blocked: {why}");
        encode(&ToolDecision::Deny { message, stop: false })
    }
}

/// A call, as the extension writes it.
#[derive(Deserialize)]
struct PiCall {
    session: String,
    #[serde(default)]
    cwd: Option<String>,
    tool: String,
    #[serde(default)]
    input: Value,
    /// The name of a subagent.
    #[serde(default)]
    worker: Option<String>,
    /// What the tool says of itself.
    #[serde(default)]
    approval: Option<Value>,
}

/// A call with what is known of its tool, for the profile `ohmypi`.
#[derive(Debug)]
struct PiRequest {
    call: HookCall,
    worker: Option<String>,
    declared: ToolDeclaration,
}

impl HookRequest for PiRequest {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        let mut call = self.call.call(key, host)?;
        call.worker.clone_from(&self.worker);
        self.declared.clone().put_into(&mut call);
        Ok(call)
    }

    fn reply(&self, decided: &Decided) -> HookReply {
        self.call.reply(decided)
    }
}

// FAIL-CLOSED: whatever is not understood is an error, and that blocks.
fn read(agent: Pi, stdin: &[u8]) -> Result<HookEvent, String> {
    let asked: PiCall = exact_json::from_slice(stdin)
        .map_err(|error| format!("stdin is not what the extension writes: {error}"))?;
    let declared = match (agent, asked.approval) {
        (Pi::Pi, _) => ToolDeclaration::default(),
        (Pi::OhMyPi, Some(declared)) => ToolDeclaration::read(declared)?,
        (Pi::OhMyPi, None) => ToolDeclaration::known(&asked.tool),
    };
    let call = HookCall {
        agent: agent.id(),
        session: asked.session,
        cwd: asked.cwd,
        tool: asked.tool,
        args: asked.input,
        accepts: Vec::new(),
        journal: None,
        encode,
    };
    Ok(HookEvent::Wants(Box::new(PiRequest { call, worker: asked.worker, declared })))
}

fn encode(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"block": false}),
        ToolDecision::Deny { message, .. } => json!({"block": true, "reason": message}),
    })
}

fn text(command: &str) -> Result<String, String> {
    with_words(EXTENSION, COMMAND, command)
}

fn command(text: &str) -> Option<String> {
    text.starts_with(MARK).then(|| words_in(text, COMMAND))?
}

#[cfg(test)]
mod tests;
