//! Cards with buttons where presses are not received any more, or without where they are
//! again.

use super::{OutboxWorker, PageProgress};
use countersign_store::StoreError;
use countersign_tokens::clock;

/// How many are redrawn before it is looked for anything new: an edit counts against the limits of
/// a chat.
const FEW: u32 = 5;

impl OutboxWorker {
    /// Redraws some of them; `None` where there are none to redraw now.
    pub(super) async fn redraw_muted(&mut self) -> Result<Option<PageProgress>, StoreError> {
        let Some(muted) = self.receiving.redraws() else { return Ok(None) };
        // What was just drawn is not drawn again.
        self.note_shown().await?;
        let (store, name) = (self.store.clone(), self.adapter.name);
        let find = async |now| store.drawn_otherwise(name, &self.target, muted, now, FEW).await;
        let cards = find(clock::now_ms()).await?;
        if !cards.is_empty() {
            return self.show_all(cards).await.map(Some);
        }
        // Those that failed wait for their time.
        if find(i64::MAX).await?.is_empty() {
            self.receiving.all_drawn(muted);
        }
        Ok(None)
    }
}
