//! When the bot may send: what a 429 said, and how much a chat takes.

use super::Fault;
use super::world::World;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub(super) struct Limits {
    /// Chats that nothing may be sent to before then: a 429 said so.
    quiet: HashMap<i64, Instant>,
    /// How many messages and edits a chat takes in a minute, where that is limited.
    pub(super) a_minute: Option<u32>,
    /// How many each has had, since when.
    had: HashMap<i64, (Instant, u32)>,
}

impl World {
    /// What is sent to a chat before the time that a 429 named: refused once more, and wrong.
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

    fn too_much(&mut self, method: &str, parameters: &Map<String, Value>) -> Option<Fault> {
        const MINUTE: Duration = Duration::from_secs(60);
        let (most, chat) = (self.limits.a_minute?, chat_of(method, parameters)?);
        let (since, had) = self.limits.had.entry(chat).or_insert_with(|| (Instant::now(), 0));
        if since.elapsed() >= MINUTE {
            (*since, *had) = (Instant::now(), 0);
        }
        *had += 1;
        let left = MINUTE.saturating_sub(since.elapsed()).as_secs() + 1;
        (*had > most).then_some(Fault::RetryAfter(left))
    }
}

/// The chat that a call shows something in; asking for updates and telling a presser have limits of
/// their own.
fn chat_of(method: &str, parameters: &Map<String, Value>) -> Option<i64> {
    let shows = method.starts_with("send") || method.starts_with("edit");
    parameters.get("chat_id")?.as_i64().filter(|_| shows)
}
