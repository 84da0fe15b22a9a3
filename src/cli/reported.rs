//! Runs what a person approved, and reports when it started and how it ended.

use super::{
    Exit,
    asking::InterruptSignals,
    child::{command, not_started},
    say,
};
use anyhow::{Context as _, Result, anyhow};
use countersign_client::Client;
use rustix::{
    process::{Pid, Signal, getpgrp, kill_process},
    termios::tcgetpgrp,
};
use std::{
    fs::File, io::ErrorKind, os::unix::process::ExitStatusExt, pin::pin, process,
    process::ExitStatus, time::Duration,
};
use tokio::{
    process::Child,
    signal::unix::{self, SignalKind, signal},
    time::timeout,
};

/// How long the daemon may take to note a report, which nobody shall wait for.
const REPORT: Duration = Duration::from_secs(3);

/// Runs the command of this approved ask; ends this process with its exit code.
pub(super) async fn run(
    client: &Client,
    id: &str,
    words: &[String],
    signals: &mut InterruptSignals,
) -> Result<Exit> {
    let (program, arguments) = words.split_first().ok_or_else(|| anyhow!("no command"))?;
    let mut starting = pin!(timeout(REPORT, start(client, id)));
    let (token, stopped) = tokio::select! {
        biased;
        _ = signals.next() => (starting.await.unwrap_or(None), true),
        token = &mut starting => (token.unwrap_or(None), false),
    };
    let ended = async |code: i32| {
        if let Some(token) = &token {
            // Its exit code is what the command came to, whether the card says so or not.
            let _ = timeout(REPORT, client.report_execution(token, Some(code))).await;
        }
    };
    if stopped {
        say::aside("Interrupted: it was approved, and nothing is run here.");
        ended(Exit::Interrupted as i32).await;
        return Ok(Exit::Interrupted);
    }
    let mut others = OtherSignals::new()?;
    let mut command = tokio::process::Command::from(command(program, arguments));
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            ended(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }).await;
            return Err(not_started(program, &error));
        }
    };
    let code = code(await_end(&mut child, signals, &mut others).await?);
    ended(code).await;
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

/// The signals that end no wait, but would end this process and leave its command behind.
struct OtherSignals {
    quit: unix::Signal,
    user_1: unix::Signal,
    user_2: unix::Signal,
}

impl OtherSignals {
    fn new() -> Result<Self> {
        let of = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            quit: of(SignalKind::quit())?,
            user_1: of(SignalKind::user_defined1())?,
            user_2: of(SignalKind::user_defined2())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.quit.recv() => Signal::QUIT,
            _ = self.user_1.recv() => Signal::USR1,
            _ = self.user_2.recv() => Signal::USR2,
        }
    }
}

/// Waits for the end of the command, and hands on the signals that only we get.
async fn await_end(
    child: &mut Child,
    signals: &mut InterruptSignals,
    others: &mut OtherSignals,
) -> Result<ExitStatus> {
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let hand_on = |signal| {
        // The terminal sends these to the command too. A second one means something else to many.
        let by_terminal = matches!(signal, Signal::INT | Signal::QUIT) && has_terminal();
        if let Some(pid) = pid.filter(|_| !by_terminal) {
            let _ = kill_process(pid, signal);
        }
    };
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(ended?),
            signal = signals.next() => hand_on(signal),
            signal = others.next() => hand_on(signal),
        }
    }
}

/// Whether the keys of a terminal reach this process and what it starts.
fn has_terminal() -> bool {
    let group = File::open("/dev/tty").ok().and_then(|terminal| tcgetpgrp(terminal).ok());
    group == Some(getpgrp())
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
