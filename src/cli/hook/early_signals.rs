//! The signals that a gate gets before it has a runtime to receive them.

use crate::cli::Exit;
use anyhow::{Context as _, Result};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag::register_conditional_shutdown,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Ends the process at a signal, with the exit code that blocks the call.
// FAIL-CLOSED: agents let a call run whose gate ended by a signal.
#[derive(Debug)]
pub(super) struct EarlySignals(Arc<AtomicBool>);

impl EarlySignals {
    /// From now on.
    ///
    /// # Errors
    /// If signals cannot be received.
    pub(super) fn block() -> Result<Self> {
        let on = Arc::new(AtomicBool::new(true));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            register_conditional_shutdown(signal, Exit::Usage as i32, on.clone())
                .context("signals cannot be received")?;
        }
        Ok(Self(on))
    }

    /// Leaves the signals to the runtime, which cancels the ask first.
    pub(super) fn leave(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}
