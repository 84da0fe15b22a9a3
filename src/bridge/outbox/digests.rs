//! Digests: messages of their own, each sent at least once, and once unless the daemon dies
//! meanwhile.

use super::{OutboxWorker, failures::LATER};
use countersign_port::{ReplyPiece, SendError, Target};
use countersign_store::{DigestTry, DueDigest, StoreError};
use std::time::Duration;

impl OutboxWorker {
    /// Sends the digest that is due at this target. `Some`: nothing more for so long.
    pub(super) async fn send_digest(&mut self) -> Result<Option<Duration>, StoreError> {
        let (name, store) = (self.adapter.name, &self.store);
        let due = store.due_digest(name, &self.target, self.term.fence()).await?;
        let Some(DueDigest { due_at, content }) = due else { return Ok(None) };
        // What another version wrote down, nobody can read here.
        let lines = serde_json::from_str::<Vec<Vec<ReplyPiece>>>(&content).unwrap_or_default();
        if !self.term.holds() {
            return Ok(None);
        }
        if let Some(left) = self.term.rests_for() {
            return Ok(Some(left));
        }
        if !store.digest_sending(due_at, name, &self.target, self.term.fence()).await? {
            return Ok(None);
        }
        let (tried, rest) = match self.adapter.announce(&Target(self.target.clone()), &lines).await
        {
            Ok(()) => (DigestTry::Over, None),
            Err(SendError::Retry { after, .. }) => (DigestTry::Again, Some(after)),
            Err(SendError::Transient(why)) => {
                tracing::debug!(adapter = name, why, "a digest is late");
                (DigestTry::Again, Some(LATER))
            }
            Err(error) => {
                tracing::warn!(adapter = name, %error, "a digest is given up");
                (DigestTry::Over, None)
            }
        };
        store.digest_tried(due_at, name, &self.target, tried).await?;
        tracing::info!(adapter = name, target = %self.target, ?tried, "a digest was tried");
        Ok(rest)
    }
}
