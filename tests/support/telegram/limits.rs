//! Rate limits: what a 429 demanded, and how much a chat accepts.

use super::Fault;
use super::world::World;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub(super) struct Limits {
    /// Until when a chat must not be sent to, because a 429 demanded it.
    quiet: HashMap<i64, Instant>,
    /// The largest number of messages and edits per chat and minute, if limited.
    pub(super) a_minute: Option<u32>,
    /// The count of each chat in the current minute, and the start of that minute.
    had: HashMap<i64, (Instant, u32)>,
    /// How many a chat takes at once; one more is free every second.
    pub(super) at_once: Option<u32>,
    /// When the last of them will be free again.
    free_at: HashMap<i64, Instant>,
}

impl World {
    /// Refuses a call before the time that a 429 named, and records a violation.
    pub(super) fn too_soon(
        &mut self,
        method: &str,
        parameters: &Map<String, Value>,
    ) -> Option<Fault> {
        let until = self.limits.quiet.get(&chat_of(method, parameters)?)?;
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        self.violations.push(format!("{method} came {left:?} before its retry_after was over"));
        Some(Fault::RetryAfter(left.as_secs() + 1))
    }

    pub(super) fn next_fault(
        &mut self,
        method: &str,
        parameters: &Map<String, Value>,
    ) -> Option<Fault> {
        let fault = self.find_fault(method).or_else(|| self.too_much(method, parameters))?;
        if let (Fault::RetryAfter(seconds), Some(chat)) = (&fault, chat_of(method, parameters)) {
            self.limits.quiet.insert(chat, Instant::now() + Duration::from_secs(*seconds));
        }
        Some(fault)
    }

    /// How long a chat wants quiet that has had too much at once; seconds.
    fn at_once(&mut self, method: &str, parameters: &Map<String, Value>) -> Option<u64> {
        let (most, chat) = (self.limits.at_once?, chat_of(method, parameters)?);
        let now = Instant::now();
        let free_at = self.limits.free_at.entry(chat).or_insert(now);
        let next = (*free_at).max(now) + Duration::from_secs(1);
        let over = next.duration_since(now).as_secs_f64() - f64::from(most);
        if over > 0.0 {
            return Some(over.ceil() as u64);
        }
        *free_at = next;
        None
    }

    fn too_much(&mut self, method: &str, parameters: &Map<String, Value>) -> Option<Fault> {
        const MINUTE: Duration = Duration::from_secs(60);
        if let Some(left) = self.at_once(method, parameters) {
            return Some(Fault::RetryAfter(left));
        }
        let (most, chat) = (self.limits.a_minute?, chat_of(method, parameters)?);
        let (since, had) = self.limits.had.entry(chat).or_insert_with(|| (Instant::now(), 0));
        if since.elapsed() >= MINUTE {
            (*since, *had) = (Instant::now(), 0);
        }
        *had += 1;
        // Rounded up: the Bot API names whole seconds, and an earlier retry would be refused again.
        let left = MINUTE.saturating_sub(since.elapsed()).as_secs() + 1;
        (*had > most).then_some(Fault::RetryAfter(left))
    }
}

/// The chat in which a call shows something; polling and replies to presses have limits of their
/// own.
fn chat_of(method: &str, parameters: &Map<String, Value>) -> Option<i64> {
    let shows = method.starts_with("send") || method.starts_with("edit");
    parameters.get("chat_id")?.as_i64().filter(|_| shows)
}
