//! The command of a program that we run.

use super::context::APPROVER_TOKEN;
use anyhow::anyhow;
use std::io;

/// The command, without our tokens.
pub(super) fn command(program: &str, arguments: &[String]) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    // SECURITY: what asks, or runs, must not be able to answer for a person.
    command.env_remove(APPROVER_TOKEN).env_remove(format!("{}_FILE", APPROVER_TOKEN));
    command
}

/// Why it could not be started.
pub(super) fn not_started(program: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("{program}: there is no such program"),
        _ => anyhow!("{program}: {error}"),
    }
}
