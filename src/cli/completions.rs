//! `countersign completions SHELL`: prints shell completions.

use super::{Exit, say};
use anyhow::Result;
use clap_complete::Shell;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign completions bash > ~/.local/share/bash-completion/completions/countersign
  countersign completions fish > ~/.config/fish/completions/countersign.fish")]
pub(super) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run<C: clap::CommandFactory>(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "countersign", &mut script);
    say::out(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Good)
}
