//! Codex: its hooks, and the app-server that its terminals share.

mod ancestry;
mod changes;
mod frame;
mod hook;
mod odd;
mod open_requests;
mod outage;
mod refusal;
mod request;
mod run;
mod run_requests;
mod socket;
mod trust;
mod watch;

use super::{
    agent::{
        A_DAY_S, AgentTitle, HookAgent, HookEvent, HookLimit, HookMode, Hooks, Overdue, TRIAL,
        TRIAL_SAYS,
    },
    home,
    json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
};
use hook::{GATE, PROMPT};
use request::NAME;
pub use run::{CodexOutput, CodexRun};
pub use run_requests::CodexAround;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
pub use watch::CodexWatch;

/// The option of the hook of that event.
const GATE_OPTION: &str = " --gate";

const SETTINGS: JsonSettings = JsonSettings {
    name: NAME,
    title: "Codex",
    comments: Comments::Refused,
    nesting: HookNesting::Groups,
};

/// Codex.
#[derive(Debug, Clone, Copy)]
pub struct Codex;

impl HookAgent for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> AgentTitle {
        AgentTitle {
            name: "Codex",
            versions: "0.157 or newer; older ones and --no-daemon through its hook",
            connected: "The daemon on this machine joins the app-server that Codex's terminals \
                        share: their prompts stay beside it, and decide alone while no daemon \
                        runs. Where there is no app-server the hook asks, and Codex shows \
                        \"Waiting for countersign\" meanwhile. `codex exec` has no prompts: \
                        --gate brings its calls here.",
        }
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        Ok(home::folder("CODEX_HOME", ".codex")?.join("hooks.json"))
    }

    fn program(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn connect(&self, text: &str, command: &str, mode: HookMode) -> Result<String, String> {
        let gate = Some(GATE).filter(|_| mode == HookMode::EveryCall);
        let entry = |event| {
            let option = if event == GATE { GATE_OPTION } else { "" };
            let handler = json!({"type": "command", "command": format!("{command}{option}"),
                "timeout": A_DAY_S, "statusMessage": "Waiting for countersign"});
            HookEntry { event, matcher: Some("*"), handler }
        };
        let entries: Vec<_> = [PROMPT].into_iter().chain(gate).map(entry).collect();
        SETTINGS.connect(text, &entries)
    }

    fn disconnect(&self, text: &str) -> Result<String, String> {
        SETTINGS.disconnect(text)
    }

    fn installed(&self, text: &str) -> Result<Option<Hooks>, String> {
        let hooks = SETTINGS.hooks(text)?;
        let has = |event: &str| hooks.iter().any(|(there, _)| there == event);
        let mode = if has(GATE) { HookMode::EveryCall } else { HookMode::Prompts };
        let command = hooks.first().and_then(|(_, hook)| hook.get("command")?.as_str());
        Ok(command.map(|command| Hooks {
            command: command.strip_suffix(GATE_OPTION).unwrap_or(command).to_owned(),
            mode,
            complete: has(PROMPT),
        }))
    }

    fn others(&self, settings: &str) -> Vec<String> {
        SETTINGS.others(settings, PROMPT)
    }

    fn sample(&self, session: &str, mode: HookMode) -> Option<Value> {
        let event = match mode {
            HookMode::Prompts => PROMPT,
            HookMode::EveryCall => GATE,
        };
        Some(json!({"session_id": session, "hook_event_name": event, "tool_name": "Bash",
            "tool_input": {"command": TRIAL, "description": TRIAL_SAYS},
            "permission_mode": "default"}))
    }

    fn decode(&self, stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
        hook::read(stdin, mode)
    }

    fn limit(&self, mode: HookMode) -> Option<HookLimit> {
        Some(HookLimit::written(match mode {
            HookMode::Prompts => Overdue::Asks,
            HookMode::EveryCall => Overdue::Runs,
        }))
    }

    fn watched_home(&self) -> Option<PathBuf> {
        home::folder("CODEX_HOME", ".codex").ok()
    }

    fn is_watched(&self, watched: &Path) -> bool {
        let same = |home: PathBuf| {
            home == watched || home.canonicalize().ok() == watched.canonicalize().ok()
        };
        self.watched_home().is_some_and(same) && socket::runs(watched, ancestry::of_this_process())
    }

    fn still_to_do(&self, settings: &Path) -> Option<String> {
        let text = std::fs::read_to_string(settings).ok()?;
        let config = settings.with_file_name("config.toml");
        let config = std::fs::read_to_string(config).unwrap_or_default();
        trust::missing(&settings.display().to_string(), &ours(&text), &config).then(|| {
            "Codex runs a hook only once you trust it: start `codex`, and review the hooks of \
             countersign where it shows \"Hooks need review\", or enter /hooks later. Until then \
             only what its app-server asks comes here."
                .to_owned()
        })
    }
}

/// The places of our handlers: the event, the group and the handler in it.
fn ours(settings: &str) -> Vec<(&'static str, usize, usize)> {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let mut found = Vec::new();
    for event in [PROMPT, GATE] {
        let groups = settings.pointer(&format!("/hooks/{event}")).and_then(Value::as_array);
        for (at, group) in groups.into_iter().flatten().enumerate() {
            let handlers = group.get("hooks").and_then(Value::as_array);
            for (nth, handler) in handlers.into_iter().flatten().enumerate() {
                let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
                if super::json_settings::runs_our_hook(command, NAME) {
                    found.push((event, at, nth));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
