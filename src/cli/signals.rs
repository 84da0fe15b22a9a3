//! The signals that this process takes itself.

use anyhow::{Context as _, Result};
use rustix::process::Signal;
use std::{future::poll_fn, io, task::Poll};
use tokio::signal::unix::{self, SignalKind};

/// Signals that are received instead of ending the process.
pub(super) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Those that end a wait.
    pub(super) fn that_interrupt() -> Result<Self> {
        let hang_up = if hang_up_is_ignored() { None } else { Some(Signal::HUP) };
        Self::of([Signal::INT, Signal::TERM].into_iter().chain(hang_up))
    }

    pub(super) fn of(all: impl IntoIterator<Item = Signal>) -> Result<Self> {
        let received = |it: Signal| Ok((it, unix::signal(SignalKind::from_raw(it.as_raw()))?));
        let all = all.into_iter().map(received).collect::<io::Result<_>>();
        Ok(Self(all.context("signals cannot be received")?))
    }

    /// Returns at the first signal.
    pub(super) async fn any(&mut self) {
        self.next().await;
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let mut all = self.0.iter_mut();
            let arrived =
                all.find_map(|(signal, it)| it.poll_recv(context).is_ready().then_some(*signal));
            arrived.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// Returns whether who started this had it ignore a closed terminal, as `nohup` does. Only Linux
/// tells; elsewhere it counts as not.
pub(super) fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, SIGHUP: proc_pid_status(5).
    ignored.is_some_and(|mask| mask & 1 == 1)
}
