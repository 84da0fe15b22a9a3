//! The files in which agents look for hooks: where this user's are, and those that hold our hook
//! and nothing else.

use crate::{agent::HookFile, json_settings::runs_our_hook};
use std::{env, path::PathBuf};

/// The form of the file of one agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnFile {
    /// The agent's name in our command.
    pub name: &'static str,
    /// What it is to the agent.
    pub kind: HookFile,
    /// The text that runs a command.
    pub text: fn(&str) -> Result<String, String>,
    /// The command in a text of this form; `None` for any other text.
    pub command: fn(&str) -> Option<String>,
}

impl OwnFile {
    /// The file's text with this command.
    ///
    /// # Errors
    /// Where the file holds something else.
    pub(super) fn connect(self, text: &str, command: &str) -> Result<String, String> {
        if text.trim().is_empty() || self.command_in(text).is_some() {
            (self.text)(command)
        } else {
            Err(format!(
                "1:1: this is not what `countersign connect {}` writes; move it away first",
                self.name
            ))
        }
    }

    /// The empty text, which stands for no file. A file that is not ours stays.
    pub(super) fn disconnect(self, text: &str) -> String {
        match self.command_in(text) {
            Some(_) => String::new(),
            None => text.to_owned(),
        }
    }

    /// The command of our hook.
    pub(super) fn command_in(self, text: &str) -> Option<String> {
        (self.command)(text).filter(|command| runs_our_hook(command, self.name))
    }
}

/// The start of the line of a script that names our command.
const COMMAND: &str = "const COMMAND = ";

/// The words of the command in a script of ours, which begins with `mark`; they are a list in JSON.
pub(super) fn command_of(script: &str, mark: &str) -> Option<String> {
    let ours = script.starts_with(mark).then_some(script)?;
    let line = ours.lines().find_map(|line| line.strip_prefix(COMMAND))?;
    let words: Vec<String> = serde_json::from_str(line.trim_end_matches([';', ' '])).ok()?;
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

/// The script with this command.
pub(super) fn with_command(script: &str, command: &str) -> Result<String, String> {
    let words = shlex::split(command).ok_or("the hook's command cannot be read")?;
    let words = serde_json::json!(words).to_string();
    let lines = script.lines().map(|line| {
        if line.starts_with(COMMAND) { format!("{COMMAND}{words};\n") } else { format!("{line}\n") }
    });
    Ok(lines.collect())
}

/// The folder that an environment variable names, or this one in the user's home.
///
/// # Errors
/// When there is no home folder.
pub(super) fn folder(variable: &str, name: &str) -> Result<PathBuf, String> {
    match named(variable) {
        Some(folder) => Ok(folder),
        None => home(name),
    }
}

/// A folder in the user's home.
///
/// # Errors
/// When there is none.
pub(super) fn home(name: &str) -> Result<PathBuf, String> {
    let home = etcetera::home_dir().map_err(|error| format!("there is no home folder: {error}"))?;
    Ok(home.join(name))
}

/// The folder that an environment variable names.
pub(super) fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}
