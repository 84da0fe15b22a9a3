//! `countersign completions SHELL`: prints shell completions.

use super::{Exit, complete, say};
use anyhow::{Context as _, Result};
use clap_complete::{Shell, env::Shells};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The script asks countersign itself, so it also completes ids and sessions of the running daemon.
Load it at the start of each shell, so that it fits the installed version:
  echo 'source <(countersign completions bash)' >> ~/.bashrc
  echo 'source <(countersign completions zsh)' >> ~/.zshrc
  echo 'countersign completions fish | source' >> ~/.config/fish/config.fish")]
pub(super) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<Exit> {
    let (shells, name) = (Shells::builtins(), args.shell.to_string());
    let completer = shells.completer(&name).context("this shell has no completions")?;
    let (mut script, program) = (Vec::new(), "countersign");
    completer.write_registration(complete::VARIABLE, program, program, program, &mut script)?;
    say::out(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Good)
}
