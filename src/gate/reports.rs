//! What callers report about the calls that they run.

use super::{Gate, executions::ExecutionNoted};
use countersign_domain::log::{ExecutionToken, PublicKey};
use countersign_store::StoreError;

impl Gate {
    /// Notes that the call of this token starts, or how it has ended where there is an exit code.
    ///
    /// # Errors
    /// When the store fails; then a call that is to start may not.
    pub async fn report(
        &self,
        token: &ExecutionToken,
        key: &PublicKey,
        exit: Option<i32>,
    ) -> Result<ExecutionNoted, StoreError> {
        match exit {
            None => self.open.start(token, key).await,
            Some(exit) => self.open.finish(token, key, exit).await,
        }
    }
}
