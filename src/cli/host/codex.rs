//! `countersign host codex --prompt TEXT -- codex`: its arguments.

use anyhow::{Context as _, Result, bail};
use countersign_agents::CodexOutput;
use std::{io::Read as _, time::Duration};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Runs `codex app-server` and gives it one prompt. What Codex asks, commands, changes of files and
questions, is answered by your rules or by a person; whether it asks is up to its own approval
policy and sandbox. What it says is printed. Without a daemon, and for what no card can show, it is
denied.
Example: countersign host codex --prompt 'run the tests' -- codex -c model='\"gpt-5.1-codex\"'")]
pub(super) struct HostCodexArgs {
    /// The prompt; without it, all of stdin is the prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Print every frame of the app-server, as JSON lines, instead of what Codex says
    #[arg(long)]
    json: bool,
    /// How many seconds Codex may retry after an error, such as a model that cannot be reached,
    /// before the run ends
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    retry_for: u64,
    /// Codex with its options, after --
    #[arg(last = true, required = true, value_name = "CODEX")]
    engine: Vec<String>,
}

/// The part of Codex that takes frames on its stdin.
const SERVER: &str = "app-server";

impl HostCodexArgs {
    /// The prompt.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn prompt(&self) -> Result<String> {
        let prompt = match &self.prompt {
            Some(prompt) => prompt.clone(),
            None => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("stdin is not a text")?;
                text
            }
        };
        if prompt.trim().is_empty() {
            bail!("there is no prompt: give it with --prompt, or on stdin");
        }
        Ok(prompt)
    }

    /// The words that start the app-server.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = self.engine.clone();
        if !words.iter().any(|word| word == SERVER) {
            words.push(SERVER.to_owned());
        }
        words
    }

    pub(super) fn retries(&self) -> Duration {
        Duration::from_secs(self.retry_for)
    }

    pub(super) fn output(&self) -> CodexOutput {
        if self.json { CodexOutput::Frames } else { CodexOutput::Messages }
    }
}
