//! The event of a hook, for agents that name it in a field.

use super::{agent::HookEvent, misplaced::misplaced_message};
use countersign_domain::exact_json;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The events that a hook decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventNames {
    /// The agent in our commands.
    pub agent: &'static str,
    /// The fields that may name the event.
    pub fields: &'static [&'static str],
    /// The events that ask for a decision here.
    pub events: &'static [&'static str],
}

/// An event that was read.
pub(super) enum HookEventRead<R> {
    /// One of ours, with its request.
    Ours(&'static str, R),
    /// Any other.
    Other(HookEvent),
}

impl EventNames {
    /// Reads an event from stdin.
    ///
    /// # Errors
    /// A sentence, where it is no event or lacks a field.
    // FAIL-CLOSED: any other event is misplaced, and that blocks: it may ask for a decision too,
    // and there may be no prompt behind silence.
    pub(super) fn read<R: DeserializeOwned>(
        self,
        stdin: &[u8],
    ) -> Result<HookEventRead<R>, String> {
        let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
        let whole: Value = exact_json::from_slice(stdin).map_err(unreadable)?;
        if !whole.is_object() {
            return Err("stdin is not a hook's JSON".to_owned());
        }
        let name = self.fields.iter().find_map(|field| whole.get(field)).and_then(Value::as_str);
        let event = match self.events.iter().find(|event| Some(**event) == name) {
            Some(event) => {
                return Ok(HookEventRead::Ours(event, R::deserialize(&whole).map_err(unreadable)?));
            }
            None => name.unwrap_or("an event without a name"),
        };
        let message = misplaced_message(event, self.agent, &self.events.join(" and "));
        Ok(HookEventRead::Other(HookEvent::Misplaced { event: event.to_owned(), message }))
    }
}
