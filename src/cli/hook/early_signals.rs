//! The signals that a gate gets before it can take its ask back.

use crate::cli::{Exit, say, signals};
use anyhow::{Context as _, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag, low_level,
};
use std::{
    io::Read,
    os::unix::net::UnixStream,
    process, slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// What the agent reads then.
const STOPPED: &str =
    "countersign was stopped before it could decide on this call, so it is blocked.";

/// Ends the process at a signal, with words on stderr and the exit code that blocks the call; once
/// the call is handed in, only remembers the signal.
// FAIL-CLOSED: Codex and Gemini let a call run whose gate ended without a word, or by a signal.
#[derive(Debug)]
pub(in crate::cli) struct EarlySignals {
    arrived: Arc<AtomicBool>,
    handed_in: Arc<AtomicBool>,
}

impl EarlySignals {
    /// From now on.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub(in crate::cli) fn block() -> Result<Self> {
        let arrived = Arc::<AtomicBool>::default();
        let handed_in = Arc::<AtomicBool>::default();
        let mut signals = vec![SIGINT, SIGTERM];
        // Asked before anything is registered, which would hide it.
        if !signals::hang_up_is_ignored() {
            signals.push(SIGHUP);
        }
        let (mut bell, ringing) = UnixStream::pair().context("signals cannot be received")?;
        for signal in signals {
            let ringing = ringing.try_clone()?;
            flag::register(signal, Arc::clone(&arrived)).context("signals cannot be received")?;
            low_level::pipe::register(signal, ringing).context("signals cannot be received")?;
        }
        let is_left = Arc::clone(&handed_in);
        thread::Builder::new().spawn(move || {
            let mut rung = 0;
            // A thread, because a signal handler must not write.
            while bell.read(slice::from_mut(&mut rung)).is_ok_and(|count| count > 0) {
                if !is_left.load(Ordering::SeqCst) {
                    say::aside(STOPPED);
                    process::exit(Exit::Usage as i32);
                }
            }
        })?;
        Ok(Self { arrived, handed_in })
    }

    /// From now on a signal is only remembered: its ask has to be taken back first.
    pub(super) fn hand_in(&self) {
        self.handed_in.store(true, Ordering::SeqCst);
    }

    /// Returns whether there was one.
    pub(super) fn arrived(&self) -> bool {
        self.arrived.load(Ordering::SeqCst)
    }
}
