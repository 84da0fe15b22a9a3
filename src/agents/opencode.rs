//! opencode: a plugin that starts our hook for each of its prompts and questions.

mod request;

use super::{
    agent::{
        AgentTitle, HookAgent, HookEvent, HookFile, HookLimit, HookMode, HookRequest, Hooks, TRIAL,
        TRIAL_SAYS,
    },
    home,
    own_file::{OwnFile, with_words, words_in},
};
use countersign_domain::{call::Call, exact_json};
use request::{
    NAME, OpencodeWire, PendingQuestions, PermissionAsked, RequestOrigin, RequestSession,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;

const PLUGIN: &str = include_str!("../../config/opencode/countersign.js");

/// The start of the plugin, which tells it from others.
const MARK: &str = "// countersign for opencode";

/// The start of the line with the command.
const COMMAND: &str = "const COMMAND = ";

const FILE: OwnFile = OwnFile { name: NAME, mode: HookMode::Prompts, text, command };

/// opencode.
#[derive(Debug, Clone, Copy)]
pub struct Opencode;

impl HookAgent for Opencode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> AgentTitle {
        AgentTitle {
            name: "opencode",
            versions: "1.18.33 or newer",
            connected: "Its own dialog stays beside it, and decides alone while no daemon runs. It \
                        asks only what its `permission` setting asks, and little by default: put \
                        \"permission\": {\"bash\": \"ask\", \"edit\": \"ask\"} into its \
                        opencode.json. `opencode run` asks nobody: it rejects by itself.",
        }
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        Ok(folder()?.join("plugin/countersign.js"))
    }

    fn hook_file(&self) -> HookFile {
        HookFile::Own
    }

    fn modes(&self) -> &'static [HookMode] {
        &[HookMode::Prompts]
    }

    fn program(&self) -> Option<&'static str> {
        Some("opencode")
    }

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
        Some(json!({"type": "permission.asked", "properties": {"id": "per_trial",
            "sessionID": session, "permission": "bash", "patterns": [TRIAL],
            "metadata": {"command": TRIAL, "description": TRIAL_SAYS}}}))
    }

    // The plugin waits for ever, and so does the dialog beside it.
    fn limit(&self, _mode: HookMode) -> Option<HookLimit> {
        None
    }

    fn decode(&self, stdin: &[u8], _mode: HookMode) -> Result<HookEvent, String> {
        read(stdin)
    }
}

#[derive(Deserialize)]
struct PluginEvent {
    #[serde(rename = "type")]
    kind: String,
    properties: Value,
    #[serde(default)]
    directory: Option<String>,
    #[serde(default)]
    session: RequestSession,
}

/// Decodes what the plugin writes.
fn read(stdin: &[u8]) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not an event: {error}");
    let event: PluginEvent = exact_json::from_slice(stdin).map_err(unreadable)?;
    let PluginEvent { kind, properties, directory, session } = event;
    let wire = match kind.contains(".v2.") {
        true => OpencodeWire::V2,
        false => OpencodeWire::V1,
    };
    let origin = RequestOrigin { directory, session, wire };
    Ok(match kind.as_str() {
        "permission.asked" | "permission.v2.asked" => {
            let asked = PermissionAsked::deserialize(properties).map_err(unreadable)?;
            HookEvent::Wants(Box::new(asked.of(origin)?))
        }
        "question.asked" | "question.v2.asked" => {
            let asked = PendingQuestions::deserialize(properties).map_err(unreadable)?;
            HookEvent::Wants(Box::new(asked.of(origin)?))
        }
        // The plugin's own events: its reply came after another one.
        "countersign.overtaken" => {
            let asked = PermissionAsked::deserialize(properties).map_err(unreadable)?;
            overtaken(&asked.of(origin)?)?
        }
        "countersign.overtaken.question" => {
            let asked = PendingQuestions::deserialize(properties).map_err(unreadable)?;
            overtaken(&asked.of(origin)?)?
        }
        "session.deleted" => {
            let id = properties.pointer("/info/id").or_else(|| properties.get("sessionID"));
            let session = id.and_then(Value::as_str).ok_or("the event names no session")?;
            HookEvent::Ended { session: session.to_owned() }
        }
        _ => HookEvent::Notice,
    })
}

fn overtaken(request: &dyn HookRequest) -> Result<HookEvent, String> {
    let Call { session, tool, args: input, .. } = request.call(String::new(), None)?;
    Ok(HookEvent::Overtaken { session, tool, input })
}

fn folder() -> Result<PathBuf, String> {
    match (home::named("OPENCODE_CONFIG_DIR"), home::named("XDG_CONFIG_HOME")) {
        (Some(folder), _) => Ok(folder),
        (None, Some(config)) => Ok(config.join("opencode")),
        (None, None) => home::home(".config/opencode"),
    }
}

fn text(command: &str) -> Result<String, String> {
    with_words(PLUGIN, COMMAND, command)
}

fn command(text: &str) -> Option<String> {
    text.starts_with(MARK).then(|| words_in(text, COMMAND))?
}

#[cfg(test)]
mod tests;
