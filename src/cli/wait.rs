//! Runs a short-lived command.

use anyhow::Result;
use futures::FutureExt;

/// Runs a short-lived command to its end.
pub(super) fn wait<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    // One thread suffices: a command waits for a single daemon.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Boxed: otherwise the runtime's loop is compiled anew for each command.
    runtime.block_on(command.boxed_local())
}
