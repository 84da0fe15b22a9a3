//! `countersign run -- CMD`: runs a command once it is allowed.

use super::{
    Context, Exit,
    asking::{self, CardShown, InterruptSignals},
    caller::{self, Caller},
    child,
    program::ProgramFile,
    reported, say, wait,
};
use anyhow::{Result, anyhow};
use countersign_client::Ending;
use countersign_gate::ask::Decision;
use std::os::unix::process::CommandExt;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The card shows the command exactly as it will run. Once allowed it runs with the input, output and
exit code of this process. What a person approved is reported back: the card says when it was
started and with which exit code it ended. Otherwise it does not run: 3 denied, 5 nobody answered
in time; 1 if its folder was moved or its program's file was changed meanwhile.
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
    let file = ProgramFile::of(&command)?;
    let call = caller.call("shell_exec", caller::shell(&command)?)?;
    let client = context.client()?;
    wait(async {
        // To the end: a signal behind the answer must not be lost before the command starts.
        let mut signals = InterruptSignals::new()?;
        let card = CardShown::NotOnTerminals;
        let waited = asking::wait(&client, &call, card, &mut signals, |id| {
            say::aside(&format!("waiting for an answer to {id}; Ctrl-C cancels it"));
        });
        let Some(decided) = waited.await? else { return Ok(Exit::Interrupted) };
        say::aside(&asking::sentence(&decided));
        // FAIL-CLOSED: only an approval runs the command.
        match decided.decision {
            Decision::Approve => {
                file.check(&command)?;
                match (&decided.ask, &decided.ending) {
                    (Some(id), Ending::Answered(_)) => {
                        reported::run(&client, id, &command, &mut signals).await
                    }
                    _ => Err(become_it(&command)),
                }
            }
            Decision::Answer => Err(anyhow!("a question was answered; nothing was approved")),
            Decision::Edit => Err(anyhow!("the command was changed; it is not run")),
            Decision::Deny => Ok(asking::exit(&decided)),
        }
    })
}

/// Replaces this process with the command; returns only if that fails.
fn become_it(words: &[String]) -> anyhow::Error {
    let Some((program, arguments)) = words.split_first() else { return anyhow!("no command") };
    // `exec` and not a child: signals, the terminal and the exit code are then the command's own.
    child::not_started(program, &child::command(program, arguments).exec())
}
