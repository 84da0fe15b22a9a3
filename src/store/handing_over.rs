//! Cards that replace one whose target fails.

use super::{NewCard, Store, StoreError, cards, events};
use countersign_tokens::clock;
use serde_json::json;

impl Store {
    /// Adds these cards to an open ask, each with the sentence that says what it replaces;
    /// whether any was new.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn hand_over(
        &self,
        ask: &str,
        from: &str,
        why: &str,
        instead: &str,
        new: &[NewCard],
    ) -> Result<bool, StoreError> {
        let [ask, from, why, instead] = [ask, from, why, instead].map(str::to_owned);
        let new = new.to_vec();
        let added = self.write(move |tx| {
            Box::pin(async move {
                cards::insert(tx, &ask, &new).await?;
                let mut to = Vec::new();
                for card in &new {
                    let said = sqlx::query("UPDATE card SET instead = $2 WHERE nonce = $1");
                    let said = said.bind(card.nonce.clone()).bind(instead.clone());
                    if said.execute(&mut **tx).await?.rows_affected() > 0 {
                        to.push(format!("{}/{}", card.adapter, card.target));
                    }
                }
                if to.is_empty() {
                    return Ok(false);
                }
                let data = json!({"from": from, "why": why, "to": to});
                events::append(tx, clock::now_ms(), "handed_over", Some(&ask), &data).await?;
                Ok(true)
            })
        });
        let added = added.await?;
        self.tell();
        Ok(added)
    }
}
