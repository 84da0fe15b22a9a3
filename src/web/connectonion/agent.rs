//! The agent's side: a call of its plugin becomes an ask, and the answer is sent back.

use crate::{
    Api,
    connectonion::{
        AgentMessage, ConnectionParams, IncomingFrame, decode, incoming, text,
        wire::{self, Reported},
    },
};
use axum::extract::ws::WebSocket;
use countersign_gate::{AttachedCaller, Gate, SubmitOutcome, ask::Ask, call::Call};
use countersign_profiles::connectonion::Mailbox;
use countersign_tokens::ids;
use futures::{SinkExt, StreamExt, future::BoxFuture};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// The length of one wait; the next follows at once.
const ROUND: Duration = Duration::from_secs(600);
/// The pause after a wait that failed because of the store.
const AGAIN: Duration = Duration::from_secs(1);

/// The open request of an agent: its id, and the future of the frame that answers it.
struct AwaitedAnswer {
    id: String,
    answer: BoxFuture<'static, Option<Value>>,
}

/// Serves an agent until it disconnects or the daemon stops.
pub(super) async fn serve(api: &Api, socket: WebSocket, mut whose: ConnectionParams) {
    // A connection that names no session gets one of its own, so that it shares no grants.
    whose.session.get_or_insert_with(ids::ask_id);
    let (mut out, mut frames) = socket.split();
    let mut mailbox = Mailbox::default();
    let mut pending: Option<AwaitedAnswer> = None;
    loop {
        let reply = tokio::select! {
            message = frames.next() => match incoming(message) {
                IncomingFrame::Closed => break,
                IncomingFrame::Idle => continue,
                IncomingFrame::Malformed(why) => Some(wire::error(&why)),
                IncomingFrame::Frame(frame) => {
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
                // The request is done, even if its answer is an error.
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
    // FAIL-CLOSED: dropping the pending wait detaches its caller. An agent that disconnects while
    // an ask is open cancels it, unless it reconnects in time.
}

/// The answer of the pending request; `None` if the daemon stops first.
async fn answered(pending: &mut Option<AwaitedAnswer>) -> Option<Value> {
    match pending {
        Some(pending) => (&mut pending.answer).await,
        None => std::future::pending().await,
    }
}

/// Handles one frame; returns the reply to send at once, if there is one.
async fn receive(
    gate: &Arc<Gate>,
    whose: &ConnectionParams,
    mailbox: &mut Mailbox,
    pending: &mut Option<AwaitedAnswer>,
    frame: &Value,
) -> Result<Option<Value>, String> {
    let AgentMessage::Call(mut call) = decode(frame, whose)? else { return Ok(None) };
    call.owner.clone_from(&whose.owner);
    let id = call.key.get_or_insert_with(ids::nonce).clone();
    // INVARIANT: one request at a time. An answer carries no id, so there must be only one it can
    // mean.
    mailbox.ask(&id)?;
    // A repeat of the pending request: the wait for it goes on.
    if pending.as_ref().is_some_and(|pending| pending.id == id) {
        return Ok(None);
    }
    match submit(gate, *call).await {
        Ok(Submission::Now(answer)) => {
            let _ = mailbox.answer(&answer);
            Ok(Some(answer))
        }
        Ok(Submission::Later(answer)) => {
            *pending = Some(AwaitedAnswer { id, answer });
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
        SubmitOutcome::Ruled(ruling) => {
            let message = gate.text_for_denial(&call, &ruling);
            Ok(Submission::Now(wire::of_ruling(&call, &ruling, message)))
        }
        SubmitOutcome::Asked(ask, Some(caller)) => {
            Ok(Submission::Later(Box::pin(wait(gate.clone(), *ask, caller))))
        }
        SubmitOutcome::Asked(ask, None) => Ok(Submission::Now(answer_of(gate, &ask))),
    }
}

/// The frame for a closed ask.
fn answer_of(gate: &Gate, ask: &Ask) -> Value {
    let reported = if gate.choices().policy.is_compat() { Reported::Scope } else { Reported::Once };
    wire::of_ask(ask, gate.text_for_model(ask), reported)
}

/// Waits for the answer as long as the agent is connected; `None` if the daemon stops first.
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
            // INVARIANT: a temporary failure of the store cancels no ask: its agent keeps waiting,
            // and people can answer once the store works again.
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
mod tests {
    #![allow(
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "tests fail by panicking"
    )]

    use super::*;
    use countersign_bridge::testkit::{Place, Scenario, chat::FakeChat};
    use countersign_port::Outcome;
    use countersign_store::{Store, testkit::engines::on_both};
    use serde_json::json;
    use tokio::task::JoinHandle;

    const SECOND: Duration = Duration::from_secs(1);

    /// An agent that waits in a task, and the button that approves its ask.
    async fn waits(store: &Store) -> (Scenario, JoinHandle<Option<Value>>, String) {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(store, &chat).await;
        let mut call = Call::new("a", "s", "shell_exec", json!({"command": "git push"}));
        call.key = Some("k".to_owned());
        let Ok(Submission::Later(answer)) = submit(&scenario.gate, call).await else {
            panic!("it is asked")
        };
        let agent = tokio::spawn(answer);
        scenario.quiet().await;
        let button = chat.cards()[0].button.clone().unwrap();
        // Its next read of the row fails.
        store.faults().set_unreadable(true);
        scenario.pass(ROUND + SECOND * 10).await;
        (scenario, agent, button)
    }

    #[tokio::test]
    async fn an_agent_waits_on_while_the_store_fails_and_gets_its_answer_after_that() {
        on_both(async |store| {
            let (scenario, agent, button) = waits(&store).await;
            assert!(!agent.is_finished());
            assert_eq!(scenario.press(&button).await.outcome, Outcome::Fault);
            store.faults().set_unreadable(false);
            scenario.pass(SECOND * 10).await;
            assert_eq!(store.count_open().await.unwrap(), 1, "nobody took it back");
            assert_eq!(scenario.press(&button).await.outcome, Outcome::Applied);
            let answer = json!({"type": "APPROVAL_RESPONSE", "tool_call_id": "k", "approved": true,
                "scope": "once", "by": "Ana (telegram)"});
            assert_eq!(agent.await.unwrap(), Some(answer));
        })
        .await;
    }

    #[tokio::test]
    async fn a_daemon_that_stops_lets_an_agent_go_that_waits_for_the_store() {
        on_both(async |store| {
            let (scenario, agent, _) = waits(&store).await;
            scenario.gate.stop();
            assert_eq!(agent.await.unwrap(), None);
            store.faults().set_unreadable(false);
            scenario.pass(SECOND * 10).await;
            assert_eq!(store.count_open().await.unwrap(), 1, "its agent comes back");
        })
        .await;
    }
}
