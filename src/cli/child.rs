//! A program that we run and whose input and output are ours.

use super::token;
use anyhow::{Context as _, Result, anyhow};
use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

/// The time for a program to exit after its input is closed.
const FAREWELL: Duration = Duration::from_secs(5);

/// Starts a program with pipes for its input and output; its stderr stays ours.
///
/// # Errors
/// If it cannot be started.
pub(super) fn start(words: &[String]) -> Result<Child> {
    let (program, arguments) = words.split_first().context("no program")?;
    Command::from(command(program, arguments))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // If we fail before the farewell, it must not run on without us.
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{program} cannot be started"))
}

/// The command, without our tokens.
pub(super) fn command(program: &str, arguments: &[String]) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    // SECURITY: what asks, or runs, must not be able to answer for a person.
    command.env_remove(token::VARIABLE).env_remove(format!("{}_FILE", token::VARIABLE));
    command
}

/// Why it could not be started.
pub(super) fn not_started(program: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("{program}: there is no such program"),
        _ => anyhow!("{program}: {error}"),
    }
}

/// Waits for a program whose input is closed to exit, then kills it.
///
/// # Errors
/// If its end cannot be awaited.
pub(super) async fn farewell(child: &mut Child) -> Result<ExitStatus> {
    if let Ok(status) = timeout(FAREWELL, child.wait()).await {
        return Ok(status?);
    }
    child.start_kill()?;
    Ok(child.wait().await?)
}
