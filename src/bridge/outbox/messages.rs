//! Messages that are no cards. A reminder is a reply to the card that nobody answers, never a
//! second card. A digest is a message of its own, sent at least once, and once unless the daemon
//! dies meanwhile.

use crate::outbox::{OutboxWorker, failures::LATER};
use countersign_gate::ask::Ask;
use countersign_port::{MessageRef, Reminder, ReplyPiece, SendError, Target};
use countersign_store::{DigestTry, DueDigest, DueReminder, StoreError};
use countersign_tokens::clock;
use std::{collections::BTreeMap, time::Duration};

impl OutboxWorker {
    /// Reminds of what waits at this target. `Some`: nothing more for so long.
    pub(super) async fn remind(&mut self) -> Result<Option<Duration>, StoreError> {
        let name = self.adapter.name;
        let due = self.store.due_reminders(name, &self.target, self.term.fence()).await?;
        // The cards of a bundle are in one message, which is replied to once.
        let mut messages: BTreeMap<String, Vec<DueReminder>> = BTreeMap::new();
        for reminder in due {
            messages.entry(reminder.message.clone()).or_default().push(reminder);
        }
        for (message, reminders) in messages {
            if let Some(left) = self.term.rests_for() {
                return Ok(Some(left));
            }
            if let Some(rest) = self.remind_of(&message, &reminders).await? {
                return Ok(Some(rest));
            }
        }
        Ok(None)
    }

    async fn remind_of(
        &mut self,
        message: &str,
        due: &[DueReminder],
    ) -> Result<Option<Duration>, StoreError> {
        let Some(oldest) = due.first() else { return Ok(None) };
        let name = self.adapter.name;
        let Some(people) = self.gate.mentions(&oldest.ask, name, &self.target).await? else {
            // Nobody is there whom it could reach.
            return Ok(None);
        };
        let mut noted = Vec::new();
        for reminder in due {
            let DueReminder { nonce, reminders, .. } = reminder;
            if self.store.reminding(nonce, *reminders, self.term.fence()).await? {
                noted.push(reminder);
            }
        }
        let asks: Vec<&Ask> = noted.iter().map(|reminder| &reminder.ask).collect();
        if asks.is_empty() {
            return Ok(None);
        }
        let reminder = Reminder { text: sentence(&asks, clock::now_ms()), people };
        let target = self.known_place(&oldest.ask).await?;
        let message = MessageRef(message.to_owned());
        let (again, rest) = match self.adapter.remind(&target, &message, &reminder).await {
            Ok(()) => return Ok(None),
            Err(SendError::Retry { after, .. }) => (true, after),
            Err(SendError::Transient(why)) => {
                tracing::debug!(adapter = self.adapter.name, why, "a reminder is late");
                (true, LATER)
            }
            Err(error) => {
                tracing::warn!(adapter = self.adapter.name, %error, "a reminder is given up");
                (false, Duration::ZERO)
            }
        };
        if !again {
            return Ok(None);
        }
        for DueReminder { nonce, reminders, .. } in noted {
            self.store.not_reminded(nonce, *reminders).await?;
        }
        Ok(Some(rest))
    }
}

/// What a reminder says of these asks, of which the first is the oldest.
fn sentence(asks: &[&Ask], now: i64) -> String {
    let oldest = asks.iter().map(|ask| ask.created_at).min().unwrap_or(now);
    let since = clock::brief_span(now.saturating_sub(oldest));
    let waits = match asks.len() {
        1 => format!("This has waited for an answer for {since}."),
        many => format!("{many} requests wait here, the oldest for {since}."),
    };
    let deadline = asks.iter().filter_map(|ask| ask.deadline_at).min();
    match deadline {
        Some(at) => format!("{waits} {} left.", clock::brief_span(at.saturating_sub(now).max(0))),
        None => waits,
    }
}

impl OutboxWorker {
    /// Sends the digest that is due at this target. `Some`: nothing more for so long.
    pub(super) async fn send_digest(&mut self) -> Result<Option<Duration>, StoreError> {
        let name = self.adapter.name;
        let due = self.store.due_digest(name, &self.target, self.term.fence()).await?;
        let Some(DueDigest { due_at, content }) = due else { return Ok(None) };
        // What another version wrote down, nobody can read here.
        let lines = serde_json::from_str::<Vec<Vec<ReplyPiece>>>(&content).unwrap_or_default();
        if let Some(left) = self.term.rests_for() {
            return Ok(Some(left));
        }
        if !self.store.digest_sending(due_at, name, &self.target, self.term.fence()).await? {
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
        self.store.digest_tried(due_at, name, &self.target, tried).await?;
        tracing::info!(adapter = name, target = %self.target, ?tried, "a digest was tried");
        Ok(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_gate::ask::{Body, call::Call};
    use serde_json::json;

    #[test]
    fn a_reminder_says_how_long_it_waits_and_how_long_is_left() {
        let ask = |created_at, deadline_at| {
            let call = Call::new("a", "s", "Bash", json!({"command": "make"}));
            let ask = Ask::opened("a7f3", "digest", Body::new(call, "no rule"), created_at);
            Ask { deadline_at, ..ask }
        };
        let one = ask(0, Some(300_000));
        let two = ask(60_000, None);
        let said = sentence(&[&one], 120_000);
        assert_eq!(said, "This has waited for an answer for 2 min. 3 min left.");
        let said = sentence(&[&two], 120_000);
        assert_eq!(said, "This has waited for an answer for 60 s.");
        let said = sentence(&[&one, &two], 120_000);
        assert_eq!(said, "2 requests wait here, the oldest for 2 min. 3 min left.");
    }
}
