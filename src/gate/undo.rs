//! Undoing an answer: for ten minutes an approver can revoke the rules that it stored.

use super::{ask::Ask, open_asks::OpenAsks};
use countersign_store::StoreError;
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// How often it is looked though nothing is known to be due.
const LOOK: Duration = Duration::from_secs(30);

/// What the person who undid an answer is told. `kept` says why its rule is still in the file.
pub(super) fn sentence(ask: &Ask, kept: Option<&str>) -> String {
    if ask.body.call.budget.is_some() {
        return "Undone: what is left of the budget asks again.".to_owned();
    }
    let rules = ask.answer().map(|answer| ask.body.stored(answer)).unwrap_or_default();
    let hold = if rules.len() == 1 { "holds" } else { "hold" };
    match kept {
        None => format!(
            "Undone: {} no longer {hold}. A call that already runs is not stopped.",
            rules.join(", ")
        ),
        Some(why) => format!("Undone, but the rules file still has a rule of it: {why}"),
    }
}

/// Ends the times in which answers can be undone, until told to stop: their cards lose the button.
pub(super) async fn end_windows(open: Arc<OpenAsks>, stop: CancellationToken) {
    let mut changes = open.changes.subscribe();
    loop {
        changes.mark_unchanged();
        let pause = match end_due(&open).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "answers can be undone for longer than they should");
                LOOK
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            changed = changes.changed() => if changed.is_err() { return },
            () = stop.cancelled() => return,
        }
    }
}

/// Ends what is over, and says how long to rest.
async fn end_due(open: &OpenAsks) -> Result<Duration, StoreError> {
    for id in open.store.undo_over(clock::now_ms()).await? {
        let ask = open.store.whole_ask(&id).await?;
        let may = |ask: &Ask| ask.answer().is_some_and(|it| it.stored.undo_until.is_some());
        match ask.filter(may) {
            Some(ask) => {
                let _ = open.store.end_undo(&ask, true).await?;
                open.changed();
            }
            None => open.store.forget_undo(&id).await?,
        }
    }
    let next = open.store.next_undo_over().await?;
    let left = next.map(|at| at.saturating_sub(clock::now_ms()).max(1));
    let left = left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
    Ok(left.unwrap_or(LOOK).min(LOOK))
}
