//! `GET /v1/events`: the data of server-sent events.

use crate::wire::asks::AskView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The query of `GET /v1/events`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct EventsQuery {
    /// Begins with so many of the latest events, and with no open asks.
    pub last: Option<u32>,
    /// `false` ends the stream after the events that are there; it goes on where absent.
    pub follow: Option<bool>,
    /// `true` also sends what only the log shows: `allowed`, `shown`, `config`, `rules`, `forgot`.
    pub all: Option<bool>,
}

/// Something that happened. The name of the event says what. Two names have other data: `ask` (the
/// open asks that a new reader gets first) an [`AskView`], `forgotten` a [`ForgottenView`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// The event's own id, which counts up.
    pub id: i64,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// The particulars.
    pub data: Value,
    /// The ask as it is now, where the event is about one.
    pub ask: Option<AskView>,
}

/// Says that events after `Last-Event-ID` are no longer kept: every open ask follows, then the
/// events that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenView {
    /// The same in a sentence.
    pub message: String,
}
