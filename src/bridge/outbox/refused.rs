//! A target that refuses the bot: it was thrown out, blocked, or may not write any more.

use super::OutboxWorker;
use countersign_store::StoreError;
use countersign_tokens::clock;
use serde_json::json;
use std::time::Duration;

impl OutboxWorker {
    /// Keeps what is due at the target for when it takes the bot back, and says so once for every
    /// ask. For how long nothing is tried, unless the platform says before that the bot is back.
    // INVARIANT: nothing is given up for its target's sake: every ask that is open when the target
    // is back gets its card.
    pub(super) async fn refused(&mut self, why: &str) -> Result<Duration, StoreError> {
        self.refused = true;
        let rest = self.outage.refused();
        let (store, adapter) = (&self.store, self.adapter.name);
        let asks = store.target_refuses(adapter, &self.target, why).await?;
        for ask in &asks {
            tracing::error!(adapter, ask_id = %ask, why, "a card cannot be delivered for now");
            let data = json!({"adapter": adapter, "target": self.target, "why": why});
            store.note(clock::now_ms(), "undelivered", Some(ask), &data).await?;
            self.gate.hand_over(ask, adapter, &self.target, why).await?;
        }
        if asks.is_empty() {
            tracing::debug!(adapter, target = self.target, why, ?rest, "the target still refuses");
        }
        Ok(rest)
    }
}
