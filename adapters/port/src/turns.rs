//! One drawing of a message at a time, and never an older one over a newer one.

use crate::MessageRef;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// More messages than this are not remembered.
const REMEMBERED: usize = 1024;

/// The newest revision drawn of each message, behind its turn.
#[derive(Debug, Default)]
pub struct Turns(Mutex<HashMap<MessageRef, Arc<Turn<u32>>>>);

impl Turns {
    /// Waits for the turn to draw a message; holds the newest revision that it shows.
    pub async fn wait(&self, message: &MessageRef) -> OwnedMutexGuard<u32> {
        self.of(message).lock_owned().await
    }

    /// The turn where nobody else has it.
    #[must_use]
    pub fn now(&self, message: &MessageRef) -> Option<OwnedMutexGuard<u32>> {
        self.of(message).try_lock_owned().ok()
    }

    fn of(&self, message: &MessageRef) -> Arc<Turn<u32>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() >= REMEMBERED {
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        }
        turns.entry(message.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_message_is_drawn_by_one_at_a_time_and_remembers_its_revision() {
        let (turns, message) = (Turns::default(), MessageRef("1/2".to_owned()));
        let mut turn = turns.wait(&message).await;
        assert!(turns.now(&message).is_none());
        assert!(turns.now(&MessageRef("1/3".to_owned())).is_some());
        *turn = 7;
        drop(turn);
        assert_eq!(turns.now(&message).map(|turn| *turn), Some(7));
    }

    #[tokio::test]
    async fn what_is_remembered_is_bounded_but_a_turn_in_use_stays() {
        let (turns, message) = (Turns::default(), MessageRef("held".to_owned()));
        let held = turns.wait(&message).await;
        for n in 0..3 * REMEMBERED {
            drop(turns.now(&MessageRef(n.to_string())));
        }
        assert!(turns.now(&message).is_none());
        drop(held);
        let known = turns.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert!(known <= REMEMBERED, "{known}");
    }
}
