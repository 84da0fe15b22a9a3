//! Tool calls over HTTP that wait for a person.

use super::session::McpSession;
use crate::view::asked;
use axum::response::sse::{Event, KeepAlive, Sse};
use countersign_agents::mcp::PendingTool;
use countersign_domain::owner::Owner;
use countersign_gate::{AttachedCaller, Gate};
use dashmap::DashMap;
use futures::{Stream, stream};
use serde_json::Value;
use std::{convert::Infallible, sync::Arc, time::Duration};

/// The time between two notifications that a call still waits.
const PROGRESS: Duration = Duration::from_secs(10);

/// A request of a session, with the caller's owner.
type WaitingKey = (Owner, String, String);

/// The calls that wait, with their asks: another request cancels them.
// SECURITY: the owner is part of the key, so an id that was stolen is of no use to other agents.
#[derive(Debug, Default)]
pub(crate) struct WaitingTools(DashMap<WaitingKey, String>);

/// A call's place among those that wait, given back when dropped.
#[derive(Debug)]
pub(super) struct WaitingEntry {
    tools: Arc<WaitingTools>,
    key: WaitingKey,
    ask: String,
}

impl WaitingTools {
    /// Remembers a call until the result is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        (owner, session): (&Owner, &McpSession),
        request: &Value,
        ask: &str,
    ) -> WaitingEntry {
        let key = (owner.clone(), session.id.clone(), request.to_string());
        self.0.insert(key.clone(), ask.to_owned());
        WaitingEntry { tools: self.clone(), key, ask: ask.to_owned() }
    }

    /// The ask of the request that a client cancels.
    pub(super) fn cancel(
        &self,
        (owner, session): (&Owner, &McpSession),
        request: &Value,
    ) -> Option<String> {
        let key = (owner.clone(), session.id.clone(), request.to_string());
        self.0.remove(&key).map(|(_, ask)| ask)
    }
}

impl Drop for WaitingEntry {
    fn drop(&mut self) {
        // A client that repeats an id has replaced the entry.
        self.tools.0.remove_if(&self.key, |_, ask| *ask == self.ask);
    }
}

/// A tool call that waits. When it is dropped, as when the client disconnects, its ask is
/// cancelled.
pub(super) struct WaitingTool {
    gate: Arc<Gate>,
    ask: String,
    pending: PendingTool,
    caller: AttachedCaller,
    _entry: WaitingEntry,
}

/// The progress of a wait.
enum WaitStep {
    /// Send this and go on.
    Waits(Option<Value>),
    /// Send this and end.
    Ends(Value),
}

impl WaitingTool {
    pub(super) fn new(
        gate: Arc<Gate>,
        ask: String,
        pending: PendingTool,
        caller: AttachedCaller,
        entry: WaitingEntry,
    ) -> Self {
        Self { gate, ask, pending, caller, _entry: entry }
    }

    /// Waits for the reply.
    pub(super) async fn reply(mut self) -> Value {
        loop {
            if let WaitStep::Ends(reply) = self.step(PROGRESS).await {
                self.caller.leave();
                return reply;
            }
        }
    }

    /// Streams progress, and the reply at the end.
    pub(super) fn stream(mut self) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let asked = format!("A person is asked; the ask is {}.", self.ask);
        let first = self.pending.progress(&asked);
        let rest = stream::unfold(Some(self), |tool| async move {
            let mut tool = tool?;
            loop {
                match tool.step(PROGRESS).await {
                    WaitStep::Waits(Some(message)) => return Some((event(&message), Some(tool))),
                    WaitStep::Waits(None) => {}
                    WaitStep::Ends(reply) => {
                        tool.caller.leave();
                        return Some((event(&reply), None));
                    }
                }
            }
        });
        let first = stream::iter(first.map(|message| event(&message)));
        Sse::new(futures::StreamExt::chain(first, rest)).keep_alive(KeepAlive::default())
    }

    async fn step(&mut self, longest: Duration) -> WaitStep {
        let ask = match self.caller.wait(longest).await {
            Ok(ask) => ask,
            Err(error) => return WaitStep::Ends(self.pending.reply(Err(&error.to_string()))),
        };
        match ask {
            None => WaitStep::Ends(self.pending.reply(Err("its ask is no longer stored"))),
            Some(ask) if !ask.is_open() => {
                WaitStep::Ends(self.pending.reply_to(asked(&self.gate, &ask)))
            }
            Some(_) if self.gate.is_stopping() => {
                WaitStep::Ends(self.pending.reply(Err("the daemon stops; call the tool again")))
            }
            Some(_) => WaitStep::Waits(self.pending.progress("Still waiting for a decision.")),
        }
    }
}

fn event(message: &Value) -> Result<Event, Infallible> {
    Ok(Event::default().event("message").data(message.to_string()))
}
