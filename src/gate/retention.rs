//! What nobody needs any more is forgotten: settled asks, waiters that left.

use super::{in_force::InForce, open_asks::OpenAsks};
use countersign_store::StoreError;
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(30);
/// Between two pages of what is forgotten, so that nothing else waits for it.
const BREATH: Duration = Duration::from_millis(20);

/// Forgets what is old.
#[derive(Debug)]
pub(super) struct Retention {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
}

impl Retention {
    /// Forgets what is old every 30 s until told to stop.
    pub(super) async fn forget(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            self.open.waiters.tidy();
            self.open.monotonic.tidy();
            if let Some(Err(error)) = stop.run_until_cancelled(self.forget_old()).await {
                tracing::debug!(%error, "what is old is forgotten later");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(ROUND)).await;
        }
    }

    async fn forget_old(&self) -> Result<(), StoreError> {
        let (now, keep) = (clock::now_ms(), self.in_force.now().settings.keep_ms);
        while self.open.store.forget_closed(now - keep).await? > 0 {
            tokio::time::sleep(BREATH).await;
        }
        Ok(())
    }
}
