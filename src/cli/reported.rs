//! Runs what a person approved, and reports when it started and how it ended.

use super::{
    Exit,
    child::{command, not_started},
    say, wait,
};
use crate::client::Client;
use anyhow::{Context as _, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use std::{os::unix::process::ExitStatusExt, process, process::ExitStatus, time::Duration};
use tokio::{
    process::Child,
    signal::unix::{SignalKind, signal},
    time::timeout,
};

/// How long the daemon may take to note a report, which nobody shall wait for.
const REPORT: Duration = Duration::from_secs(3);

/// Runs the command of this approved ask; ends this process with its exit code.
pub(super) fn run(client: &Client, id: &str, words: &[String]) -> Result<Exit> {
    let code = wait(async {
        let (program, arguments) = words.split_first().ok_or_else(|| anyhow!("no command"))?;
        let token = timeout(REPORT, start(client, id)).await.unwrap_or(None);
        let mut command = tokio::process::Command::from(command(program, arguments));
        let mut child = command.spawn().map_err(|error| not_started(program, &error))?;
        let code = code(await_end(&mut child).await?);
        if let Some(token) = token {
            // Its exit code is what the command came to, whether the card says so or not.
            let _ = timeout(REPORT, client.report_execution(&token, Some(code))).await;
        }
        Ok(code)
    })?;
    process::exit(code)
}

/// Reports that it starts. The approval is this process's own, so it may run without.
async fn start(client: &Client, id: &str) -> Option<String> {
    let reported = async {
        let token = client.execution_token(id).await?.token;
        client.report_execution(&token, None).await.map(|_| token)
    };
    match reported.await {
        Ok(token) => Some(token),
        Err(error) => {
            say::aside(&format!("The card does not say that it was started: {error}"));
            None
        }
    }
}

/// Waits for the end of the command, and hands on the signals that only we get.
async fn await_end(child: &mut Child) -> Result<ExitStatus> {
    let of = |kind| signal(kind).context("signals cannot be received");
    let (mut terminate, mut hang_up) = (of(SignalKind::terminate())?, of(SignalKind::hangup())?);
    // The terminal sends these to the command too, which decides what they mean.
    let _interrupt = of(SignalKind::interrupt())?;
    let _quit = of(SignalKind::quit())?;
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let hand_on = |signal| {
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    };
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(ended?),
            _ = terminate.recv() => hand_on(Signal::TERM),
            _ = hang_up.recv() => hand_on(Signal::HUP),
        }
    }
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
