//! What callers report about answered asks: one compare-and-set each, with its event.

use super::{
    Closed, Store, StoreError,
    asks::fetch,
    cards, events, pause,
    undo::{replace, with_answer},
};
use countersign_domain::{Answer, Ask, execution::Execution};
use serde_json::{Value, json};

impl Store {
    /// Notes that the call of this answered ask was started, or has ended, if the row is still as
    /// seen. While everything is paused nothing is started.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn note_execution(
        &self,
        seen: &Ask,
        execution: Execution,
    ) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let (kind, at, data) = match execution.end {
            None => ("started", execution.started_at, json!({"digest": seen.digest})),
            Some(end) => ("finished", end.at, json!({"exit": end.exit})),
        };
        let answer = Answer { execution: Some(execution), ..answer.clone() };
        self.note_at_answer(with_answer(seen, answer), (kind, at, data)).await
    }

    /// Notes that the answer of this ask did not count, because somebody answered at the agent
    /// itself, if the row is still as seen.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    pub async fn note_overtaken(&self, seen: &Ask, at: i64) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let answer = Answer { overtaken_at: Some(at), ..answer.clone() };
        self.note_at_answer(with_answer(seen, answer), ("overtaken", at, json!({}))).await
    }

    async fn note_at_answer(
        &self,
        after: Ask,
        (kind, at, data): (&'static str, i64, Value),
    ) -> Result<Closed, StoreError> {
        let (starts, dialect) = (kind == "started", self.engine.dialect);
        let changed = self.write(move |tx| {
            Box::pin(async move {
                if starts && pause::held(tx, dialect).await?.is_some() {
                    return Ok(fetch(tx, &after.id).await?.map_or(Closed::Unknown, Closed::Lost));
                }
                if !replace(tx, &after).await? {
                    return Ok(fetch(tx, &after.id).await?.map_or(Closed::Unknown, Closed::Lost));
                }
                cards::want(tx, &after.id).await?;
                events::append(tx, at, kind, Some(&after.id), &data).await?;
                Ok(Closed::Won(after))
            })
        });
        let changed = changed.await?;
        self.tell();
        Ok(changed)
    }
}
