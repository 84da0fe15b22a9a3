//! Codex: its hooks, whose wire has Claude Code's shape without the fields that Codex refuses, and
//! the app-server that its terminals share.

mod frame;
mod open_requests;
mod request;
mod reviews;
mod run;
mod watch;

pub use crate::codex::{
    run::{CodexOutput, CodexRun},
    watch::CodexWatch,
};
use crate::{
    agent::{
        A_DAY_S, AgentTitle, HookAgent, HookEvent, HookLimit, HookMode, HookReply, Hooks, Overdue,
        TRIAL, TRIAL_SAYS,
    },
    codex::request::NAME,
    hook_call::{self, ToolDecision, ToolEvent},
    hook_files,
    json_settings::{Comments, HookEntry, HookNesting, JsonSettings},
};
use countersign_domain::exact_json;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::process::parent_id,
    path::{Path, PathBuf},
};

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
        Ok(hook_files::folder("CODEX_HOME", ".codex")?.join("hooks.json"))
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
            HookEntry { event, matcher: Some("*"), handlers: vec![handler] }
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

    fn sample(&self, session: &str, mode: HookMode) -> Value {
        json!({"session_id": session, "hook_event_name": event_of(mode), "tool_name": "Bash",
            "tool_input": {"command": TRIAL, "description": TRIAL_SAYS},
            "permission_mode": "default"})
    }

    fn decode(&self, stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
        read_event(stdin, mode)
    }

    fn limit(&self, mode: HookMode) -> Option<HookLimit> {
        let then = if mode.is_gate() { Overdue::Runs } else { Overdue::Asks };
        Some(HookLimit::written(then))
    }

    fn watched_home(&self) -> Option<PathBuf> {
        hook_files::folder("CODEX_HOME", ".codex").ok()
    }

    fn is_watched(&self, watched: &Path) -> bool {
        let same = |home: PathBuf| {
            home == watched || home.canonicalize().ok() == watched.canonicalize().ok()
        };
        self.watched_home().is_some_and(same) && watch::runs(watched, of_this_process())
    }

    fn still_to_do(&self, settings: &Path) -> Option<String> {
        let text = std::fs::read_to_string(settings).ok()?;
        let config = settings.with_file_name("config.toml");
        let config = std::fs::read_to_string(config).unwrap_or_default();
        lacks_trust(&settings.display().to_string(), &ours(&text), &config).then(|| {
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
                if crate::json_settings::runs_our_hook(command, NAME) {
                    found.push((event, at, nth));
                }
            }
        }
    }
    found
}

// The wire of Codex's hooks: Claude Code's shape, without the fields that Codex refuses.

/// The event of Codex's prompts.
const PROMPT: &str = "PermissionRequest";
/// The event of every call.
const GATE: &str = "PreToolUse";

/// The event of the calls that come here in this mode.
fn event_of(mode: HookMode) -> &'static str {
    if mode.is_gate() { GATE } else { PROMPT }
}

/// Events that only inform a hook.
const TELLING: &[&str] = &[
    "Notification",
    "PostCompact",
    "PostToolUse",
    "PreCompact",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptSubmit",
];

/// Decodes the JSON that Codex writes to a hook's stdin.
///
/// # Errors
/// A sentence; without a gate Codex's own prompt decides then.
// FAIL-CLOSED: behind PreToolUse there is no prompt, so what is not understood there is blocked.
fn read_event(stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
    let whole: Value = match exact_json::from_slice(stdin) {
        Ok(whole) => whole,
        // Unreadable JSON has no event name to check, so the name is searched for in the text.
        Err(_) if !mode.is_gate() && String::from_utf8_lossy(stdin).contains(GATE) => {
            return Ok(misplaced(GATE, mode));
        }
        Err(error) => return Err(unreadable(error)),
    };
    match whole.get("hook_event_name").and_then(Value::as_str) {
        Some(event) if event == event_of(mode) => {}
        Some(event) if mode == HookMode::Prompts && TELLING.contains(&event) => {
            return Ok(HookEvent::Notice);
        }
        Some(event) => return Ok(misplaced(event, mode)),
        None if whole.get("tool_name").is_some() => {
            return Ok(misplaced("an event without a name", mode));
        }
        None => return Err("stdin is not a hook's JSON: it names no event".to_owned()),
    }
    let input = ToolEvent::deserialize(&whole).map_err(unreadable)?;
    // It only asks the person at the terminal.
    if input.tool_name == "request_user_input" {
        return Ok(HookEvent::Notice);
    }
    let encode = if mode.is_gate() { encode_gate } else { hook_call::answer_prompt };
    // `interrupt` makes the whole reply invalid.
    Ok(HookEvent::Wants(Box::new(input.wanted(NAME, encode))))
}

/// There a hook can only deny: an approval says nothing, and Codex goes on as without it.
fn encode_gate(decision: &ToolDecision) -> HookReply {
    match decision {
        ToolDecision::Allow => HookReply::Print(json!({})),
        ToolDecision::Deny { message, .. } => HookReply::Block(message.clone()),
    }
}

/// An event that asks this hook for a decision it cannot make.
fn misplaced(event: &str, mode: HookMode) -> HookEvent {
    let option = if mode.is_gate() { GATE_OPTION } else { "" };
    hook_call::misplaced(event, option, NAME, event_of(mode))
}

// Whether Codex runs our hooks: a person has to trust each of them first.

/// Returns whether one of these hooks in this file has no mark of trust in Codex's config. The mark
/// holds a hash of the hook, which Codex alone can check.
fn lacks_trust(file: &str, hooks: &[(&str, usize, usize)], config: &str) -> bool {
    let config = config.parse::<toml::Table>().unwrap_or_default();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state")?.as_table());
    let is_trusted = |(event, group, handler): &(&str, usize, usize)| {
        let key = format!("{file}:{}:{group}:{handler}", snake(event));
        let mark = state.and_then(|state| state.get(&key));
        let is_on = mark.and_then(|mark| mark.get("enabled")).and_then(toml::Value::as_bool);
        let hash = mark.and_then(|mark| mark.get("trusted_hash")).and_then(toml::Value::as_str);
        hash.is_some_and(|hash| !hash.is_empty()) && is_on != Some(false)
    };
    !hooks.iter().all(is_trusted)
}

/// `PermissionRequest` as `permission_request`, `unifiedExec` as `unified_exec`.
fn snake(event: &str) -> String {
    let mut text = String::new();
    for letter in event.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

// The processes that this one descends from.

/// How many of them are looked at: a shell may stand between Codex and its hook.
const MOST_PARENTS: usize = 4;

/// The parents of this process, the nearest first; without `/proc` only that one.
fn of_this_process() -> Vec<u32> {
    let mut found = vec![parent_id()];
    while let Some(parent) = found.last().copied().and_then(parent_of) {
        if parent <= 1 || found.len() >= MOST_PARENTS {
            break;
        }
        found.push(parent);
    }
    found
}

/// Reads the parent from `/proc/PID/stat`, behind the name in parentheses and the state.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::agent::HookReply;
    use countersign_client::{Decided, Ending};
    use countersign_domain::Decision;

    #[test]
    fn every_hook_of_ours_needs_a_mark_that_is_not_switched_off() {
        let hooks = [("PermissionRequest", 0, 0), ("PreToolUse", 1, 0)];
        let mark = |event: &str, group: usize, more: &str| {
            format!(
                "[hooks.state.\"/h/hooks.json:{event}:{group}:0\"]\n\
             trusted_hash = \"sha256:1\"\n{more}"
            )
        };
        let first = mark("permission_request", 0, "");
        let second = mark("pre_tool_use", 1, "");
        let off = mark("pre_tool_use", 1, "enabled = false\n");
        for (config, wanted) in [
            (String::new(), true),
            (first.clone(), true),
            (format!("{first}{second}"), false),
            (format!("{first}{off}"), true),
            ("[hooks".to_owned(), true),
        ] {
            assert_eq!(lacks_trust("/h/hooks.json", &hooks, &config), wanted, "{config}");
        }
    }

    #[test]
    fn the_parents_of_this_process_begin_with_the_one_that_started_it() {
        let found = of_this_process();
        assert_eq!(found.first(), Some(&parent_id()));
        assert!(found.len() <= MOST_PARENTS, "{found:?}");
    }

    const COMMAND: &str = "/opt/countersign hook codex";

    fn golden(name: &str) -> (Vec<u8>, Value) {
        let file = format!("{}/../../tests/golden/codex/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let data = |at: usize| golden.pointer(&format!("/frames/{at}/data")).unwrap().clone();
        (data(0).to_string().into_bytes(), data(1))
    }

    fn decided(decision: Decision, reason: &str) -> Decided {
        Decided {
            decision,
            reason: reason.to_owned(),
            message: None,
            ask: None,
            ending: Ending::Ruled(None),
        }
    }

    fn reply(stdin: &[u8], mode: HookMode, decided: &Decided) -> HookReply {
        match Codex.decode(stdin, mode) {
            Ok(HookEvent::Wants(request)) => request.reply(decided),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_replies_are_those_of_the_transcripts_and_hold_no_field_that_codex_refuses() {
        let (stdin, allow) = golden("10_hook_allow");
        let allowed = reply(&stdin, HookMode::Prompts, &decided(Decision::Approve, "ok"));
        assert_eq!(allowed, HookReply::Print(allow));
        let (stdin, mut deny) = golden("11_hook_deny");
        let denied =
            reply(&stdin, HookMode::Prompts, &decided(Decision::Deny, "open a pull request"));
        *deny.pointer_mut("/hookSpecificOutput/decision/message").unwrap() =
            json!("Denied by policy: open a pull request");
        assert_eq!(denied, HookReply::Print(deny));
        let call = match Codex.decode(&stdin, HookMode::Prompts) {
            Ok(HookEvent::Wants(request)) => request.call("k".into(), None).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!((call.tool.as_str(), call.cwd.as_deref()), ("Bash", Some("/home/ana/shop")));
        assert_eq!(call.accepts, [], "a denial that ends the turn is refused by Codex");
    }

    #[test]
    fn a_gate_says_nothing_where_it_allows_and_blocks_where_it_does_not() {
        let event = |name: &str| {
            json!({"hook_event_name": name, "session_id": "s", "tool_name": "apply_patch",
            "tool_input": {"command": "*** Begin Patch"}, "permission_mode": "bypassPermissions"})
            .to_string()
            .into_bytes()
        };
        let gate = event(GATE);
        let mode = HookMode::EveryCall;
        let allowed = reply(&gate, mode, &decided(Decision::Approve, "ok"));
        assert_eq!(allowed, HookReply::Print(json!({})));
        let denied = reply(&gate, mode, &decided(Decision::Deny, "no"));
        assert_eq!(denied, HookReply::Block("Denied by policy: no".to_owned()));
        for (stdin, mode) in [
            (event(GATE), HookMode::Prompts),
            (event("Unheard"), HookMode::Prompts),
            (event(PROMPT), HookMode::EveryCall),
            (event("PostToolUse"), HookMode::EveryCall),
            (b"{ PreToolUse".to_vec(), HookMode::Prompts),
        ] {
            let event = Codex.decode(&stdin, mode);
            assert!(matches!(event, Ok(HookEvent::Misplaced { .. })), "{event:?}");
        }
        // A gate blocks whatever it cannot read, and then says what that is.
        let long =
            br#"{"hook_event_name": "PreToolUse", "tool_input": {"n": 123456789012345678901}}"#;
        let event_of_long = Codex.decode(long, HookMode::EveryCall);
        assert!(matches!(&event_of_long, Err(why) if why.contains("digits")), "{event_of_long:?}");
        let told = Codex.decode(&event("PostToolUse"), HookMode::Prompts);
        assert!(matches!(told, Ok(HookEvent::Notice)), "{told:?}");
    }

    #[test]
    fn the_hooks_stand_beside_those_of_others_and_go_as_they_came() {
        let theirs = "{\n  \"hooks\": {\n    \"PermissionRequest\": [\n      { \"matcher\": \"a\", \
                  \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n    ]\n  }\n}\n";
        let connected = Codex.connect(theirs, COMMAND, HookMode::EveryCall).unwrap();
        assert_eq!(ours(&connected), [(PROMPT, 1, 0), (GATE, 0, 0)]);
        assert_eq!(Codex.others(&connected), ["lint"]);
        assert_eq!(Codex.disconnect(&connected), Ok(theirs.to_owned()));
    }
}
