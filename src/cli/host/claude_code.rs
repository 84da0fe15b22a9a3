//! `countersign host claude-code -- claude -p`: its arguments, and the lines for Claude Code.

use crate::cli::lines::{of_stdin, queued};
use serde_json::json;
use tokio::sync::mpsc;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Claude Code runs with --input-format stream-json, --output-format stream-json and
--permission-prompt-tool stdio. Its prompts are answered by your rules or by a person; every other
line passes unchanged in both directions. When stdin ends, the turn still runs to its end. Without a
daemon every prompt is denied.
Example: countersign host claude-code --prompt 'run the tests' -- claude -p")]
pub(super) struct HostClaudeCodeArgs {
    /// The prompt; without it, messages are read from stdin as Claude Code's JSON lines
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Claude Code with its options, after --
    #[arg(last = true, required = true, value_name = "CLAUDE")]
    engine: Vec<String>,
}

/// The options that make us the host. One that the caller gives is left as it is.
const OPTIONS: [&[&str]; 4] = [
    &["--input-format", "stream-json"],
    &["--output-format", "stream-json"],
    &["--permission-prompt-tool", "stdio"],
    &["--verbose"],
];

impl HostClaudeCodeArgs {
    /// The words that start Claude Code.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.engine.clone();
        let given = |words: &[String], option: &str| {
            let with_value = format!("{option}=");
            words.iter().any(|word| word == option || word.starts_with(&with_value))
        };
        if !given(&words, "-p") && !given(&words, "--print") {
            words.push("-p".to_owned());
        }
        for option in OPTIONS {
            if option.first().is_some_and(|name| !given(&words, name)) {
                words.extend(option.iter().map(|word| (*word).to_owned()));
            }
        }
        words
    }

    /// Whether the prompt is given, so that nobody writes to our stdin.
    pub(super) fn has_prompt(&self) -> bool {
        self.prompt.is_some()
    }

    /// The lines for Claude Code: the prompt alone, or those of stdin.
    pub(super) fn lines(&self) -> mpsc::Receiver<Vec<u8>> {
        let Some(prompt) = &self.prompt else { return of_stdin() };
        let message = json!({"type": "user", "message": {"role": "user", "content": prompt},
            "parent_tool_use_id": null, "session_id": ""});
        queued(&[message.to_string()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_us_the_host_is_added_where_it_is_not_given() {
        let words = |engine: &[&str]| {
            let engine = engine.iter().map(|word| (*word).to_owned()).collect();
            HostClaudeCodeArgs { prompt: None, engine }.words().join(" ")
        };
        let added = "--input-format stream-json --output-format stream-json \
                     --permission-prompt-tool stdio --verbose";
        assert_eq!(words(&["claude", "-p"]), format!("claude -p {added}"));
        assert_eq!(words(&["claude"]), format!("claude -p {added}"));
        let given = "claude --print --verbose --input-format=stream-json --output-format \
                     stream-json --permission-prompt-tool stdio";
        assert_eq!(words(&given.split(' ').collect::<Vec<_>>()), given);
    }
}
