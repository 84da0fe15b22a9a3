//! What cards show and the store does not know yet. Noting costs a commit: what comes within a
//! breath shares one, and no answer waits for it.

use super::page::PAGE;
use countersign_store::{Due, Shown};
use std::{collections::HashMap, time::Duration};
use tokio::time::Instant;

/// For how long.
const HOLD: Duration = Duration::from_millis(20);
/// How many at most; a page of due cards holds more, so that some in it are to be shown.
const MOST: usize = PAGE as usize / 2;

#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    by_nonce: HashMap<String, Shown>,
    since: Option<Instant>,
}

impl WriteBuffer {
    pub(super) fn add(&mut self, shown: Shown) {
        self.since.get_or_insert_with(Instant::now);
        self.by_nonce.insert(shown.nonce.clone(), shown);
    }

    pub(super) fn all(&self) -> Vec<Shown> {
        self.by_nonce.values().cloned().collect()
    }

    /// How long it may still stay here; `None` where there is nothing.
    pub(super) fn left(&self) -> Option<Duration> {
        let since = self.since?;
        Some(if self.by_nonce.len() < MOST {
            HOLD.saturating_sub(since.elapsed())
        } else {
            Duration::ZERO
        })
    }

    /// Whether it has to be noted now.
    pub(super) fn is_long_ago(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }

    /// Those of the due cards that are behind what they really show, with their messages.
    // INVARIANT: what is buffered here counts as noted: nothing is posted twice, and nothing that
    // closes within the breath is left as it was.
    pub(super) fn behind(&self, due: Vec<Due>) -> Vec<Due> {
        let still_due = |mut due: Due| {
            let Some(shown) = self.by_nonce.get(&due.card.nonce) else { return Some(due) };
            let behind = due.ask.as_ref().is_ok_and(|ask| ask.version > shown.version);
            due.card.message = Some(shown.message.clone());
            behind.then_some(due)
        };
        due.into_iter().filter_map(still_due).collect()
    }
}
