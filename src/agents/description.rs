//! An agent as data: its names, the file with its hooks, and its wire. Agents that need no more than
//! this have no code besides their wire.

use crate::{
    agent::{
        self, AgentTitle, HookAgent, HookEvent, HookFile, HookLimit, HookMode, HookReply, Hooks,
    },
    hook_call::ToolDecision,
    hook_files::{self, OwnFile},
    json_settings::{HookEntry, JsonSettings},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// An agent, as far as data describe it.
#[derive(Debug, Clone, Copy)]
pub struct AgentDescription {
    /// The name on the command line and on cards.
    pub(super) name: &'static str,
    /// The name for people.
    pub(super) title: AgentTitle,
    /// The program that tells its version.
    pub(super) program: Option<&'static str>,
    /// The folder that is there where the agent is installed.
    pub(super) home: fn() -> Result<PathBuf, String>,
    /// Other folders in the user's home that tell of it.
    pub(super) traces: &'static [&'static str],
    /// The file with its hooks, in `home`.
    pub(super) file: &'static str,
    /// Settings of a project that can switch its hooks off.
    pub(super) project: &'static [&'static str],
    /// Our hooks in that file.
    pub(super) hooks: HookText,
    /// The calls that can come here.
    pub(super) modes: &'static [HookMode],
    /// How long it waits for its hook.
    pub(super) limit: fn(HookMode) -> Option<HookLimit>,
    /// The variable with its process id.
    pub(super) process_variable: Option<&'static str>,
    /// A call for a trial.
    pub(super) sample: fn(&str, HookMode) -> Value,
    /// Reads what it writes to its hook.
    pub(super) read: fn(&[u8], HookMode) -> Result<HookEvent, String>,
    /// A decision in its words.
    pub(super) encode: fn(HookMode) -> fn(&ToolDecision) -> HookReply,
    /// Where it takes our silence for something else than it means, so that words are said.
    pub(super) spoken: &'static [Silence],
}

/// Our hooks in an agent's file.
#[derive(Debug, Clone, Copy)]
pub(super) enum HookText {
    /// Entries of its settings, which run a command; and the text of a new file.
    Settings(JsonSettings, fn(&str, HookMode) -> Vec<HookEntry>, &'static str),
    /// A file of ours alone.
    Own(OwnFile),
}

/// An ending of a hook without a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nobody could decide: the agent would run a call of a gate, whatever the exit code.
    Undecided,
    /// Nobody answered in time: the agent would let a model decide.
    Unanswered,
    /// There was nothing to decide: the agent would block the call.
    Noticed,
    /// The hook was killed: the agent would run the call, but reads stderr.
    Killed,
}

impl AgentDescription {
    fn denial(&self, mode: HookMode, message: String) -> HookReply {
        (self.encode)(mode)(&ToolDecision::Deny { message, stop: false })
    }

    /// The option that our command has in this mode, where there is a choice.
    fn option(&self, mode: HookMode) -> String {
        let option = mode.option().filter(|_| self.modes.len() > 1);
        option.map(|option| format!(" {option}")).unwrap_or_default()
    }

    /// The command without that option, and the mode that it names.
    fn mode_of(&self, command: &str) -> (String, HookMode) {
        let with_option = self.modes.iter().rev().find_map(|mode| {
            let without = command.strip_suffix(&self.option(*mode))?;
            Some((without.to_owned(), *mode))
        });
        with_option.unwrap_or_default()
    }
}

impl HookAgent for AgentDescription {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> AgentTitle {
        self.title
    }

    fn settings_file(&self) -> Result<PathBuf, String> {
        Ok((self.home)()?.join(self.file))
    }

    fn hook_file(&self) -> HookFile {
        match self.hooks {
            HookText::Settings(..) => HookFile::Shared,
            HookText::Own(file) => file.kind,
        }
    }

    fn modes(&self) -> &'static [HookMode] {
        self.modes
    }

    fn program(&self) -> Option<&'static str> {
        self.program
    }

    fn detect(&self) -> bool {
        let is_there = |folder: Result<PathBuf, String>| folder.is_ok_and(|it| it.exists());
        let mut traces = self.traces.iter();
        is_there((self.home)()) || traces.any(|name| is_there(hook_files::home(name)))
    }

    fn connect(&self, text: &str, command: &str, mode: HookMode) -> Result<String, String> {
        match self.hooks {
            HookText::Settings(form, entries, empty) => {
                let text = if text.trim().is_empty() { empty } else { text };
                form.connect(text, &entries(command, mode))
            }
            HookText::Own(file) => file.connect(text, &format!("{command}{}", self.option(mode))),
        }
    }

    fn disconnect(&self, text: &str) -> Result<String, String> {
        match self.hooks {
            HookText::Settings(form, ..) => form.disconnect(text),
            HookText::Own(file) => Ok(file.disconnect(text)),
        }
    }

    fn installed(&self, text: &str) -> Result<Option<Hooks>, String> {
        let (form, entries) = match self.hooks {
            HookText::Settings(form, entries, _) => (form, entries),
            HookText::Own(file) => {
                return Ok(file.command_in(text).map(|command| {
                    let (command, mode) = self.mode_of(&command);
                    Hooks { command, mode, complete: true }
                }));
            }
        };
        let hooks = form.hooks(text)?;
        let commands = hooks.iter().filter_map(|(_, hook)| hook.get("command")?.as_str());
        let commands: Vec<_> = commands.map(|command| self.mode_of(command)).collect();
        let Some((command, _)) = commands.first() else { return Ok(None) };
        let is_there = |mode: &&HookMode| commands.iter().any(|(_, there)| there == *mode);
        let mode = self.modes.iter().rev().find(is_there).copied().unwrap_or_default();
        let mut wanted = entries(command, mode).into_iter();
        let complete = wanted.all(|entry| hooks.iter().any(|(there, _)| there == entry.event));
        Ok(Some(Hooks { command: command.clone(), mode, complete }))
    }

    fn sample(&self, session: &str, mode: HookMode) -> Value {
        (self.sample)(session, mode)
    }

    fn decode(&self, stdin: &[u8], mode: HookMode) -> Result<HookEvent, String> {
        (self.read)(stdin, mode)
    }

    fn limit(&self, mode: HookMode) -> Option<HookLimit> {
        (self.limit)(mode)
    }

    fn switched_off(&self, settings: &Path, folder: &Path) -> Option<String> {
        match self.hooks {
            HookText::Settings(form, ..) if !self.project.is_empty() => {
                form.switched_off(settings, folder, self.project)
            }
            HookText::Settings(..) | HookText::Own(_) => None,
        }
    }

    fn process_variable(&self) -> Option<&'static str> {
        self.process_variable
    }

    fn undecided(&self, why: &str, mode: HookMode) -> HookReply {
        let prompts = !mode.is_gate() && self.modes.contains(&HookMode::Prompts);
        if !prompts && self.spoken.contains(&Silence::Undecided) {
            let why = format!("countersign could not decide on this call, so it is blocked: {why}");
            return self.denial(mode, why);
        }
        agent::undecided(why, mode)
    }

    fn unanswered(&self, why: &str, mode: HookMode) -> HookReply {
        if self.spoken.contains(&Silence::Unanswered) {
            let why = format!("countersign asked a person, and {why}, so this call is denied.");
            return self.denial(mode, why);
        }
        self.undecided(why, mode)
    }

    fn noticed(&self) -> HookReply {
        if self.spoken.contains(&Silence::Noticed) {
            return (self.encode)(HookMode::EveryCall)(&ToolDecision::Allow);
        }
        HookReply::Nothing
    }

    fn last_words(&self) -> Option<Value> {
        let why = "countersign was stopped before it could decide on this call, so it is blocked.";
        let words = self.denial(HookMode::EveryCall, why.to_owned());
        match words {
            HookReply::Print(words) if self.spoken.contains(&Silence::Killed) => Some(words),
            HookReply::Print(_) | HookReply::Nothing | HookReply::Block(_) => None,
        }
    }
}
