//! Runs a short-lived command.

use anyhow::Result;

/// Runs a short-lived command to its end.
pub(super) fn wait<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    // One thread suffices: a command waits for a single daemon.
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(command)
}
