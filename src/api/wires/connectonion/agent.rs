//! The agent's end: what its plugin sends becomes an ask, what people press goes back.

use super::{
    connection::{ConnectionParams, Incoming, incoming, text},
    receive::{self, Received},
    wire::{self, Reported},
};
use crate::{
    api::state::Api,
    gate::{AttachedCaller, Gate, Submitted, ask::Ask, call::Call},
    ids,
};
use axum::extract::ws::WebSocket;
use countersign_profiles::connectonion::Mailbox;
use futures::{SinkExt, StreamExt, future::BoxFuture};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// One wait; the next begins where it ends.
const ROUND: Duration = Duration::from_secs(600);
/// After a wait that the store made fail.
const AGAIN: Duration = Duration::from_secs(1);

/// What the agent waits for: the id of its request, and the frame that will answer it.
struct OpenRequest {
    id: String,
    answer: BoxFuture<'static, Option<Value>>,
}

/// Serves an agent until it leaves or the daemon stops.
pub(super) async fn serve(api: &Api, socket: WebSocket, mut whose: ConnectionParams) {
    // A connection without a name of its own is a session of its own.
    whose.session.get_or_insert_with(ids::ask_id);
    let (mut out, mut frames) = socket.split();
    let mut mailbox = Mailbox::default();
    let mut pending: Option<OpenRequest> = None;
    loop {
        let reply = tokio::select! {
            message = frames.next() => match incoming(message) {
                Incoming::Closed => break,
                Incoming::Idle => continue,
                Incoming::Malformed(why) => Some(wire::error(&why)),
                Incoming::Frame(frame) => {
                    match receive(&api.gate, &whose, &mut mailbox, &mut pending, &frame).await {
                        Ok(now) => now,
                        Err(why) => Some(wire::error(&why)),
                    }
                }
            },
            answer = answered(&mut pending) => {
                let answer = answer.unwrap_or_else(|| {
                    wire::error("countersign stops; ask again once it is back")
                });
                // The request is done, whatever its answer.
                let _ = mailbox.answer(&answer);
                pending = None;
                Some(answer)
            }
        };
        if let Some(frame) = reply
            && out.send(text(&frame)).await.is_err()
        {
            break;
        }
    }
    // FAIL-CLOSED: an agent that leaves while an ask is open cancels it, unless it returns at once.
}

/// The answer, once there is one; `None` when the daemon stops first.
async fn answered(pending: &mut Option<OpenRequest>) -> Option<Value> {
    match pending {
        Some(pending) => (&mut pending.answer).await,
        None => std::future::pending().await,
    }
}

/// Takes a frame. The frame to send at once, where there is one.
async fn receive(
    gate: &Arc<Gate>,
    whose: &ConnectionParams,
    mailbox: &mut Mailbox,
    pending: &mut Option<OpenRequest>,
    frame: &Value,
) -> Result<Option<Value>, String> {
    let Received::Call(mut call) = receive::decode(frame, whose)? else { return Ok(None) };
    call.owner.clone_from(&whose.owner);
    let id = call.key.get_or_insert_with(ids::nonce).clone();
    // INVARIANT: one request at a time: an answer names none, so it must be clear whose it is.
    mailbox.ask(&id)?;
    if pending.as_ref().is_some_and(|pending| pending.id == id) {
        return Ok(None);
    }
    match submit(gate, *call).await {
        Ok(Submission::Now(answer)) => {
            let _ = mailbox.answer(&answer);
            Ok(Some(answer))
        }
        Ok(Submission::Later(answer)) => {
            *pending = Some(OpenRequest { id, answer });
            Ok(None)
        }
        Err(why) => {
            let _ = mailbox.answer(&Value::Null);
            Err(why)
        }
    }
}

enum Submission {
    Now(Value),
    Later(BoxFuture<'static, Option<Value>>),
}

async fn submit(gate: &Arc<Gate>, call: Call) -> Result<Submission, String> {
    match gate.submit(call.clone(), true).await.map_err(|error| error.to_string())? {
        Submitted::Ruled(ruling) => {
            let message = gate.text_for_denial(&call, &ruling);
            Ok(Submission::Now(wire::of_ruling(&call, &ruling, message)))
        }
        Submitted::Asked(ask, Some(caller)) => {
            Ok(Submission::Later(Box::pin(wait(gate.clone(), *ask, caller))))
        }
        Submitted::Asked(ask, None) => Ok(Submission::Now(answer_of(gate, &ask))),
    }
}

/// The frame of a closed ask.
fn answer_of(gate: &Gate, ask: &Ask) -> Value {
    let reported = if gate.is_compat() { Reported::Scope } else { Reported::Once };
    wire::of_ask(ask, gate.text_for_model(ask), reported)
}

/// Waits for the answer, as long as the agent does; `None` when the daemon stops first.
async fn wait(gate: Arc<Gate>, ask: Ask, mut caller: AttachedCaller) -> Option<Value> {
    loop {
        match caller.wait(ROUND).await {
            Ok(Some(ask)) if !ask.is_open() => return Some(answer_of(&gate, &ask)),
            Ok(Some(_)) if gate.is_stopping() => return None,
            Ok(Some(_)) => {}
            Ok(None) => return Some(wire::error("the ask is gone; nothing was approved")),
            Err(error) if error.is_of_a_row() => {
                tracing::warn!(ask_id = %ask.id, %error, "an agent's wait failed");
                return Some(wire::error(&format!("{error}; nothing was approved")));
            }
            // INVARIANT: a store that fails for a while takes no ask away from its approvers: its
            // agent still waits.
            Err(error) => {
                tracing::debug!(ask_id = %ask.id, %error, "an agent waits for the store");
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    () = gate.stopped() => return None,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
