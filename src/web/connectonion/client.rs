//! The client's side: open asks are sent to it one at a time, and it answers them as it would
//! answer the agent itself.

use crate::{
    Api,
    connectonion::{ConnectionParams, IncomingFrame, incoming, text, wire},
};
use axum::extract::ws::WebSocket;
use countersign_gate::{
    Gate, ModeSet, Told,
    ask::{Ask, Scope},
};
use countersign_people::{answer::Action, approvers::Who};
use countersign_profiles::{
    OnDeny,
    connectonion::{Mailbox, PromptAnswer, PromptScope as Covers},
};
use countersign_store::{Store, StoreError};
use futures::{SinkExt, StreamExt};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A connected client of ConnectOnion.
struct WireClient<'c> {
    gate: &'c Arc<Gate>,
    store: &'c Store,
    whose: ConnectionParams,
    who: Who,
    /// The ask that the client shows, in the state that was last sent.
    shown: Option<Ask>,
    mailbox: Mailbox,
}

/// Serves a client until it disconnects or the daemon stops.
pub(super) async fn serve(api: &Api, socket: WebSocket, whose: ConnectionParams, who: Who) {
    let (mut out, mut frames) = socket.split();
    let mut changes = api.gate.changes();
    let gate = &api.gate;
    let store = &api.store;
    let mailbox = Mailbox::default();
    let mut client = WireClient { gate, store, whose, who, shown: None, mailbox };
    loop {
        // Marked before the read: a change during it wakes the `select!` below at once.
        changes.mark_unchanged();
        let mut frames_out = match client.look().await {
            Ok(frames) => frames,
            Err(error) => {
                tracing::warn!(%error, "a client of ConnectOnion's cannot be shown what is open");
                break;
            }
        };
        if frames_out.is_empty() {
            tokio::select! {
                message = frames.next() => match incoming(message) {
                    IncomingFrame::Closed => break,
                    IncomingFrame::Idle => {}
                    IncomingFrame::Malformed(why) => frames_out.push(wire::error(&why)),
                    IncomingFrame::Frame(frame) => frames_out.extend(client.receive(&frame).await),
                },
                changed = changes.changed() => if changed.is_err() || gate.is_stopping() { break },
            }
        }
        for frame in frames_out {
            if out.send(text(&frame)).await.is_err() {
                return;
            }
        }
    }
}

impl WireClient<'_> {
    /// Returns what changed since the last call: the end of the shown ask, then the next open one.
    async fn look(&mut self) -> Result<Vec<Value>, StoreError> {
        let mut news = Vec::new();
        if let Some(shown) = &self.shown {
            let now = self.store.whole_ask(&shown.id).await?;
            match now.filter(Ask::is_open) {
                // Only the progress changes what the client shows: the frame contains no deadline.
                Some(now) if now.progress.current() == shown.progress.current() => return Ok(news),
                Some(now) => {
                    news.push(wire::shown(&now));
                    self.shown = Some(now);
                    return Ok(news);
                }
                None => {
                    news.push(json!({ "type": "approval_resolved", "id": shown.id }));
                    // An answer that is already on its way is stale now: a new mailbox refuses it.
                    self.mailbox = Mailbox::default();
                    self.shown = None;
                }
            }
        }
        let mut oldest = None;
        let first = |ask: &Ask| {
            if oldest.is_none() && self.is_for(ask) {
                oldest = Some(ask.clone());
            }
        };
        self.store.each_ask_in("open", first).await?;
        if let Some(next) = oldest
            && self.mailbox.ask(&next.id).is_ok()
        {
            news.push(wire::shown(&next));
            self.shown = Some(next);
        }
        Ok(news)
    }

    fn is_for(&self, ask: &Ask) -> bool {
        let call = &ask.body.call;
        call.agent == self.whose.agent
            && self.whose.session.as_ref().is_none_or(|session| *session == call.session)
    }

    /// Handles one frame.
    async fn receive(&mut self, frame: &Value) -> Option<Value> {
        let kind = frame.get("type").and_then(Value::as_str);
        match kind {
            // A frame without a `type` is an answer; an `answer` field marks it as one to a
            // question.
            None | Some("APPROVAL_RESPONSE" | "response") if frame.get("answer").is_none() => {
                self.answers(frame, false).await
            }
            None | Some("ASK_USER_RESPONSE" | "response") => self.answers(frame, true).await,
            Some("mode_change") => Some(self.wants_mode(frame).await),
            Some("PONG") => None,
            Some(other) => Some(wire::error(&format!("unknown message type: {other:?}"))),
        }
    }

    /// Handles an answer to the shown ask. If it names another request, or none is shown, it is
    /// stale and changes nothing.
    async fn answers(&mut self, frame: &Value, to_question: bool) -> Option<Value> {
        let stale = || Some(wire::error(Mailbox::STALE));
        let Some(shown) = self.shown.clone() else { return stale() };
        let meant = ["id", "request_id", "tool_call_id"].iter().find_map(|name| frame.get(*name));
        let key = shown.body.call.key.as_deref();
        let is_meant = |id: &Value| id == shown.id.as_str() || key.is_some_and(|key| id == key);
        if meant.is_some_and(|id| !is_meant(id)) || to_question != shown.is_question() {
            return stale();
        }
        let Ok((id, answer)) = self.mailbox.answer(frame) else { return stale() };
        let action =
            if to_question { reply(&shown, frame.get("answer")) } else { Ok(action(answer)) };
        let reply = match action {
            Ok(action) => self.gate.answer(shown, self.who.clone(), action).await,
            Err(why) => {
                let _ = self.mailbox.ask(&id);
                return Some(wire::error(&why));
            }
        };
        match reply.told {
            Told::Applied => None,
            Told::Already | Told::Expired | Told::Cancelled | Told::Unknown => stale(),
            Told::Noted
            | Told::Voted
            | Told::TextWanted
            | Told::NotAllowed
            | Told::Unfit
            | Told::Fault => {
                // The ask is still open, so the mailbox expects another answer.
                let _ = self.mailbox.ask(&id);
                (!matches!(reply.told, Told::Noted | Told::Voted))
                    .then(|| wire::error(&reply.sentence))
            }
        }
    }

    /// Sets another permission profile for the session.
    async fn wants_mode(&self, frame: &Value) -> Value {
        let session = frame.get("session_id").and_then(Value::as_str);
        let Some(session) = session.or(self.whose.session.as_deref()) else {
            return wire::error("mode_change needs a `session_id`");
        };
        let Some(mode) = frame.get("mode").and_then(Value::as_str) else {
            return wire::error("mode_change needs a `mode`, which is a text");
        };
        // A mode may be limited to a number of turns; the profile reads it as `MODE USED/TURNS`.
        let mode = match frame.get("turns").and_then(Value::as_u64) {
            Some(turns) => format!("{mode} 0/{turns}"),
            None => mode.to_owned(),
        };
        let set = self.gate.set_mode(&self.whose.agent, session, &mode, Some(self.who.clone()));
        match set.await {
            Ok(ModeSet::Set(mode)) => {
                json!({ "type": "mode_changed", "mode": mode, "triggered_by": "user" })
            }
            Ok(ModeSet::NotAllowed(why)) => wire::error(why),
            Err(error) => wire::error(&error.to_string()),
        }
    }
}

/// The action that an answer requests.
fn action(answer: PromptAnswer) -> Action {
    match answer {
        PromptAnswer::Approved(Covers::Once) => Action::Approve { scope: Scope::Once },
        PromptAnswer::Approved(Covers::Session) => Action::Approve { scope: Scope::Session },
        PromptAnswer::Rejected { then, feedback } => {
            Action::Deny { reason: feedback, then: Some(then) }
        }
        PromptAnswer::Closed | PromptAnswer::Interrupted => Action::Deny {
            reason: Some("the turn was interrupted".to_owned()),
            then: Some(OnDeny::Stop),
        },
    }
}

/// The action for an answer to the shown question.
fn reply(ask: &Ask, answer: Option<&Value>) -> Result<Action, String> {
    let question = ask.body.call.questions.get(ask.progress.current());
    let question = question.ok_or("this question has been answered")?;
    if ask.body.call.questions.len() > 1 {
        let text = answer.and_then(Value::as_str).ok_or("`answer` is a text")?.to_owned();
        return Ok(Action::Text { question: ask.progress.current(), text: Some(text) });
    }
    let answer = answer.cloned().ok_or("ASK_USER_RESPONSE has an `answer`")?;
    Ok(Action::Answers(Map::from_iter([(question.question.clone(), answer)])))
}
