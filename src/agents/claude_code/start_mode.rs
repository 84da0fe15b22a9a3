//! The mode in which Claude Code starts in a terminal, read from its settings as it reads them (seen
//! with 2.1.266 to 2.1.331), and what that mode means for the calls that come here.

use crate::agent::{AgentStart, HookMode};
use serde_json::Value;
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The first version that starts in auto mode by itself.
const AUTO_SINCE: [u64; 3] = [2, 1, 283];
/// A model without auto mode, in the names under which it goes.
const NEVER_AUTO: [&str; 2] = ["sonnet-4-5", "sonnet-4.5"];
/// The settings of the machine's administrator.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];
/// Those of this system.
pub(super) const MANAGED_HERE: &str =
    if cfg!(target_os = "macos") { MANAGED[1] } else { MANAGED[0] };

/// Whether this file is the user's own, or the administrator's.
// FAIL-CLOSED: what is not known to be one of them may be a project's.
pub(super) fn is_no_projects(file: &Path, user: &Path) -> bool {
    let real = |file: &Path| fs::canonicalize(file).or_else(|_| std::path::absolute(file)).ok();
    let all = MANAGED.iter().map(Path::new).chain([user]);
    real(file).is_some_and(|file| all.filter_map(real).any(|one| one == file))
}

/// What decides the mode, beside the settings.
#[derive(Debug, Clone, Default)]
struct Surroundings {
    version: Option<[u64; 3]>,
    model: Option<String>,
    /// Whether it signs in with a key, with which auto mode was seen.
    has_key: bool,
}

/// A file of settings.
#[derive(Debug, Clone)]
struct Source {
    file: PathBuf,
    /// Whether a project brings it, which cannot choose a mode that asks less.
    of_project: bool,
    settings: Value,
}

/// Reads the mode, and says what it means for hooks of this mode in these settings of the user.
pub(super) fn read(
    user: &Path,
    folder: &Path,
    version: Option<&str>,
    hooks: HookMode,
) -> AgentStart {
    let project = ["settings.local.json", "settings.json"];
    let project = project.map(|name| folder.join(".claude").join(name));
    let project = project.into_iter().filter(|file| file != user).map(|file| (file, true));
    let managed = MANAGED.iter().map(|file| (PathBuf::from(file), false));
    let files = managed.chain(project).chain([(user.to_owned(), false)]);
    let sources: Vec<Source> = files
        .filter_map(|(file, of_project)| {
            let settings = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            Some(Source { file, of_project, settings })
        })
        .collect();
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let has = |key: &str| sources.iter().any(|source| source.settings.get(key).is_some());
    let around = Surroundings {
        version: version.and_then(numbers),
        model: env::var("ANTHROPIC_MODEL").ok(),
        has_key: is_set("ANTHROPIC_API_KEY")
            || is_set("ANTHROPIC_AUTH_TOKEN")
            || has("apiKeyHelper"),
    };
    let (mode, why) = mode(&sources, &around);
    says(&mode, &why, hooks, &user.display().to_string())
}

/// The mode, and where it comes from.
fn mode(sources: &[Source], around: &Surroundings) -> (String, String) {
    let off = sources.iter().filter(|source| !source.of_project).find(|source| {
        ["/disableAutoMode", "/permissions/disableAutoMode"]
            .iter()
            .any(|key| source.settings.pointer(key).is_some_and(|it| it == "disable"))
    });
    let models = sources.iter().filter_map(|source| source.settings.get("model")?.as_str());
    let model = around.model.as_deref().into_iter().chain(models).next().unwrap_or_default();
    let never = NEVER_AUTO.iter().any(|name| model.contains(name));
    let set = sources.iter().find_map(|source| {
        let mode = source.settings.pointer("/permissions/defaultMode")?.as_str()?;
        let ignored = source.of_project && matches!(mode, "auto" | "bypassPermissions");
        (!ignored).then(|| (mode, format!("{} sets it", source.file.display())))
    });
    let (mode, why) = match (set, around.version) {
        (Some((mode, why)), _) => (mode, why),
        (None, Some(version)) if version < AUTO_SINCE => {
            ("default", "its version has no other default".to_owned())
        }
        (None, Some(_)) if around.has_key => ("auto", "by default".to_owned()),
        (None, Some(_)) => ("auto", "by default, where your plan has that mode".to_owned()),
        (None, None) => ("auto", "from 2.1.283 on, where your plan has that mode".to_owned()),
    };
    match (mode, off) {
        ("auto", Some(source)) => {
            ("default".to_owned(), format!("{} switches auto mode off", source.file.display()))
        }
        ("auto", None) if never => {
            ("default".to_owned(), format!("the model {model} has no auto mode"))
        }
        _ => (mode.to_owned(), why),
    }
}

/// What a mode means: who decides, and what to do.
fn says(mode: &str, why: &str, hooks: HookMode, settings: &str) -> AgentStart {
    const GATE: &str = "`countersign connect claude-code --gate` brings every call here.";
    let (decides, advice, unseen) = match (mode, hooks) {
        ("auto", HookMode::Prompts) => (
            "There a classifier decides instead of a person: what it approves runs without coming \
             here, in plan mode too. What it blocks, questions and plans come here.",
            format!(
                "{GATE} To be asked as before, put \"permissions\": {{\"defaultMode\": \"default\"}} \
                 into {settings}."
            ),
            true,
        ),
        ("dontAsk", HookMode::Dialogs) => (
            "Its own rule asks for every call, so this mode denies every call.",
            "Choose another mode, or `countersign connect claude-code --gate`.".to_owned(),
            false,
        ),
        (_, HookMode::Dialogs) => (
            "Every call is a dialog of Claude's in every mode, and an answer here answers it, \
             whatever its classifier says.",
            String::new(),
            false,
        ),
        ("auto", HookMode::EveryCall) => (
            "Every call comes here first, and a denial holds. An approval goes before its classifier; \
             on protected paths (`.git/hooks`, `.claude`) the classifier can still block.",
            "With `countersign connect claude-code --gate=dialog` every approval counts, at the price \
             of a dialog for each call."
                .to_owned(),
            false,
        ),
        ("auto", HookMode::RuledCalls) => (
            "What your rules ask for or deny is decided here first; its classifier decides the rest, \
             and what that blocks comes here.",
            String::new(),
            false,
        ),
        ("auto", HookMode::Blocks) => (
            "There a classifier decides instead of a person; what it blocks comes here, and nothing \
             else.",
            String::new(),
            false,
        ),
        (_, HookMode::RuledCalls) => (
            "What your rules ask for or deny is decided here first; the rest is as in this mode.",
            String::new(),
            false,
        ),
        (_, HookMode::Blocks) => (
            "Nothing comes here: only auto mode has a judge whose blocks could.",
            "`countersign connect claude-code` brings its prompts here.".to_owned(),
            true,
        ),
        (_, HookMode::EveryCall) => (
            "Every call comes here first, in this and every other mode.",
            String::new(),
            false,
        ),
        ("default" | "dontAsk", HookMode::Prompts) => (
            "What its permissions do not settle comes here, and the first answer counts.",
            format!("A session in auto mode is decided by a classifier: {GATE}"),
            false,
        ),
        ("plan", HookMode::Prompts) => (
            "There a write that a classifier approves runs without coming here.",
            GATE.to_owned(),
            true,
        ),
        (_, HookMode::Prompts) => (
            "There it runs by itself what this mode lets it, without coming here.",
            GATE.to_owned(),
            true,
        ),
    };
    AgentStart { mode: format!("starts in {} ({why})", named(mode)), decides, advice, unseen }
}

fn named(mode: &str) -> &'static str {
    match mode {
        "auto" => "auto mode",
        "default" => "manual mode",
        "plan" => "plan mode",
        "acceptEdits" => "the mode that accepts edits",
        "bypassPermissions" => "the mode that asks nobody",
        "dontAsk" => "the mode that denies what it would ask",
        _ => "a mode that is not known here",
    }
}

/// The numbers of `2.1.330 (Claude Code)`.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let first = version.split_whitespace().next()?;
    let mut numbers = first.split('.').map(|number| number.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source(file: &str, of_project: bool, settings: Value) -> Source {
        Source { file: file.into(), of_project, settings }
    }

    fn starts(sources: &[Source], version: &str, model: Option<&str>) -> (String, String) {
        let model = model.map(str::to_owned);
        mode(sources, &Surroundings { version: numbers(version), model, has_key: true })
    }

    fn user(settings: Value) -> Source {
        source("/home/ana/.claude/settings.json", false, settings)
    }

    #[test]
    fn without_a_setting_the_version_and_the_model_decide() {
        for (version, model, wanted) in [
            ("2.1.282 (Claude Code)", None, "default"),
            ("2.1.283 (Claude Code)", None, "auto"),
            ("2.1.331", Some("claude-opus-5-5"), "auto"),
            ("2.1.331", Some("claude-sonnet-4-5"), "default"),
            ("3.0.0", None, "auto"),
            // Not known: it may be one that starts in auto mode.
            ("", None, "auto"),
        ] {
            assert_eq!(starts(&[], version, model).0, wanted, "{version} {model:?}");
        }
    }

    #[test]
    fn the_settings_decide_as_claude_reads_them() {
        let mode = |mode: &str| json!({"permissions": {"defaultMode": mode}});
        let new = "2.1.330";
        for (sources, wanted) in [
            (vec![user(mode("default"))], "default"),
            (vec![user(mode("plan"))], "plan"),
            (vec![user(json!({"permissions": {"disableAutoMode": "disable"}}))], "default"),
            (vec![user(json!({"disableAutoMode": "disable"}))], "default"),
            // A project can choose the mode that asks more, and not the one that asks less.
            (vec![source("p", true, mode("auto")), user(mode("default"))], "default"),
            (vec![source("p", true, mode("bypassPermissions")), user(mode("default"))], "default"),
            (vec![source("p", true, mode("default")), user(mode("auto"))], "default"),
            (vec![source("p", true, json!({"disableAutoMode": "disable"}))], "auto"),
            (
                vec![source("managed", false, mode("acceptEdits")), user(mode("auto"))],
                "acceptEdits",
            ),
        ] {
            assert_eq!(starts(&sources, new, None).0, wanted, "{sources:?}");
        }
        let (mode, why) = starts(&[user(mode("auto"))], "2.1.266", None);
        assert_eq!(
            (mode.as_str(), why.as_str()),
            ("auto", "/home/ana/.claude/settings.json sets it")
        );
    }

    #[test]
    fn calls_run_unseen_in_auto_mode_unless_every_call_comes_here() {
        for (mode, hooks, unseen) in [
            ("auto", HookMode::Prompts, true),
            ("auto", HookMode::EveryCall, false),
            ("default", HookMode::Prompts, false),
            ("plan", HookMode::Prompts, true),
            ("acceptEdits", HookMode::Prompts, true),
            ("bypassPermissions", HookMode::Prompts, true),
            ("bypassPermissions", HookMode::EveryCall, false),
            ("new", HookMode::Prompts, true),
            ("auto", HookMode::RuledCalls, false),
            ("default", HookMode::RuledCalls, false),
            ("auto", HookMode::Blocks, false),
            ("default", HookMode::Blocks, true),
            ("auto", HookMode::Dialogs, false),
            ("bypassPermissions", HookMode::Dialogs, false),
        ] {
            let start = says(mode, "by default", hooks, "settings.json");
            assert_eq!(start.unseen, unseen, "{start:?}");
            let advised = start.advice.contains("--gate`");
            assert_eq!(advised, hooks == HookMode::Prompts, "{start:?}");
        }
    }
}
