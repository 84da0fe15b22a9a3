//! The caller of a command line: agent, session, host and working directory.

use super::{Misused, complete, when};
use anyhow::{Context as _, Result};
use countersign_agents::CallOrigin;
use countersign_domain::exact_json;
use countersign_gate::call::Call;
use countersign_tokens::ids;
use serde_json::{Value, json};

/// The options that say who asks.
#[derive(Debug, clap::Args)]
pub(super) struct Caller {
    /// Who asks, as the card shows it
    #[arg(long, default_value = "cli")]
    agent: String,
    /// The conversation that approvals "for this session" cover [default: this terminal's shell]
    #[arg(long, add = complete::sessions())]
    session: Option<String>,
    /// Why, in words for the person who answers
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// How long a person has, such as 90s or 10m [default: as [policy] timeout says]
    #[arg(long, value_name = "TIME", value_parser = when::seconds)]
    expires: Option<u64>,
}

impl Caller {
    /// Builds the call of this tool with these arguments.
    pub(super) fn call(self, tool: &str, args: Value) -> Result<Call> {
        // The shell that started us: approvals for the session end with the terminal.
        let shell = || format!("shell {}", std::os::unix::process::parent_id());
        let session = self.session.unwrap_or_else(shell);
        Ok(Call {
            // A fresh key: a command that is run twice asks twice, while a retry within it finds
            // the same ask.
            key: Some(ids::nonce()),
            host: host(),
            cwd: Some(folder()?),
            reason: self.reason,
            expires_in_s: self.expires,
            ..Call::new(self.agent, session, tool, args)
        })
    }
}

/// Where the calls of a program come from that we run here.
pub(super) fn origin(session: String) -> Result<CallOrigin> {
    Ok(CallOrigin { session, host: host(), cwd: Some(folder()?), run: ids::nonce() })
}

/// The current folder.
pub(super) fn folder() -> Result<String> {
    let folder = std::env::current_dir().context("the current folder is not there")?;
    Ok(folder.display().to_string())
}

/// This machine's host name.
pub(super) fn host() -> Option<String> {
    Some(gethostname::gethostname().to_string_lossy().into_owned()).filter(|name| !name.is_empty())
}

/// The arguments of a shell call for exactly these words. Each is quoted, so the card shows what
/// runs.
pub(super) fn shell(words: &[String]) -> Result<Value> {
    let command = shlex::try_join(words.iter().map(String::as_str))
        .context("a command cannot hold NUL characters")?;
    Ok(json!({ "command": command }))
}

/// The options that say which call it is.
#[derive(Debug, clap::Args)]
pub(super) struct GivenCall {
    /// The tool, when it is not the shell
    #[arg(long, default_value = "shell_exec", value_name = "NAME")]
    pub(super) tool: String,
    /// The tool's arguments, as JSON
    #[arg(long, value_name = "JSON", conflicts_with = "command")]
    args: Option<String>,
    /// The command, after --
    #[arg(last = true, value_name = "CMD")]
    pub(super) command: Vec<String>,
}

impl GivenCall {
    /// The arguments: `--args JSON`, or the words after `--`. `otherwise` says what to give where
    /// there is neither.
    pub(super) fn args(&self, otherwise: &str) -> Result<Value> {
        match (&self.args, self.command.as_slice()) {
            (Some(json), _) => exact_json::from_str(json).context("--args is not JSON"),
            (None, []) => Err(Misused(otherwise.to_owned()).into()),
            // A shell text, such as `-- "$COMMAND"`: quoted as one word, it would be the name of a
            // program.
            (None, [text]) if text.contains(char::is_whitespace) => Ok(json!({ "command": text })),
            (None, words) => shell(words),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_shell_reads_the_shown_command_as_exactly_the_words_that_run() {
        let words = ["echo", "it's", "a  b", "$HOME", "", "*", "\n", "~", "a;b", "!x", "-n", "ü"];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        let shown = shell(&words).unwrap();
        let script = format!("printf '%s\\0' {}", shown["command"].as_str().unwrap());
        let read = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        let read = String::from_utf8(read.stdout).unwrap();
        let read: Vec<&str> = read.strip_suffix('\0').unwrap().split('\0').collect();
        assert_eq!(read, words);
    }
}
