//! `countersign run -- CMD`: runs a command once it is allowed.

use super::{
    Context, Exit, asking,
    caller::{self, Caller},
    say, token, wait,
};
use crate::gate::ask::Decision;
use anyhow::{Result, anyhow};
use std::{io, os::unix::process::CommandExt, process::Command};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The card shows the command exactly as it will run. Once allowed it runs in place of this process,
with its own input, output and exit code. Otherwise it does not run: 3 denied, 5 nobody answered
in time.
A shell's own words need a shell: countersign run -- bash -c 'make && make install'")]
pub(super) struct RunArgs {
    #[command(flatten)]
    caller: Caller,
    /// The command, after --
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn run(context: &Context, args: RunArgs) -> Result<Exit> {
    let RunArgs { caller, command } = args;
    let call = caller.call("shell_exec", caller::shell(&command)?)?;
    let client = context.client()?;
    let waited = wait(asking::wait(&client, &call, |id| {
        say::aside(&format!("waiting for an answer to {id}; Ctrl-C cancels it"));
    }))?;
    let Some(decided) = waited else { return Ok(Exit::Interrupted) };
    say::aside(&asking::sentence(&decided));
    // FAIL-CLOSED: only an approval runs the command.
    match decided.decision {
        Decision::Approve => Err(become_it(&command)),
        Decision::Answer => Err(anyhow!("a question was answered; nothing was approved")),
        Decision::Edit => Err(anyhow!("the command was changed; it is not run")),
        Decision::Deny => Ok(asking::exit(&decided)),
    }
}

/// Replaces this process with the command; returns only if that fails.
fn become_it(words: &[String]) -> anyhow::Error {
    let Some((program, arguments)) = words.split_first() else { return anyhow!("no command") };
    // `exec` and not a child: signals, the terminal and the exit code are then the command's own.
    let error = Command::new(program)
        .args(arguments)
        // SECURITY: the command must not be able to answer for the person who approved it.
        .env_remove(token::VARIABLE)
        .env_remove(format!("{}_FILE", token::VARIABLE))
        .exec();
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("{program}: there is no such program"),
        _ => anyhow!("{program}: {error}"),
    }
}
