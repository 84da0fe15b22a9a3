//! The connections of Socket Mode.

use super::world::{Out, Socket};
use super::{FakeSlack, people::DEADLINE};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a connection is kept that was replaced.
const KEPT: Duration = Duration::from_millis(500);

pub async fn connect(
    State(fake): State<FakeSlack>,
    Query(query): Query<HashMap<String, String>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let ticket = query.get("ticket").cloned().unwrap_or_default();
    let known = fake.change(|state| {
        let at = state.tickets.iter().position(|it| *it == ticket);
        at.map(|at| state.tickets.remove(at)).is_some()
    });
    if !known {
        fake.change(|state| state.violations.push("a ticket is used twice".to_owned()));
        return axum::http::StatusCode::FORBIDDEN.into_response();
    }
    upgrade.on_upgrade(move |socket| serve(fake, socket))
}

async fn serve(fake: FakeSlack, mut stream: WebSocket) {
    let (out, mut outgoing) = mpsc::unbounded_channel();
    let number = fake.change(|state| {
        state.connected += 1;
        let number = state.connected;
        state.sockets.push(Socket { number, out, zombie: false, old: false });
        number
    });
    let hello = json!({"type": "hello", "num_connections": 1,
        "connection_info": {"app_id": "A0000000001"}});
    let _ = stream.send(Message::Text(hello.to_string().into())).await;
    loop {
        let is_zombie = fake.lock().sockets.iter().any(|it| it.number == number && it.zombie);
        if is_zombie {
            // Takes nothing, so that not even pings are answered; the client has to notice.
            tokio::time::sleep(Duration::from_secs(60)).await;
            break;
        }
        tokio::select! {
            frame = outgoing.recv() => match frame {
                Some(Out::Frame(frame)) => {
                    let _ = stream.send(Message::Text(frame.to_string().into())).await;
                }
                Some(Out::Refresh(reason)) => {
                    let frame = json!({"type": "disconnect", "reason": reason});
                    let _ = stream.send(Message::Text(frame.to_string().into())).await;
                    let later = fake.clone();
                    tokio::spawn(async move {
                        if reason == "warning" {
                            later.until_connected(number + 1).await;
                        }
                        tokio::time::sleep(KEPT).await;
                        later.change(|state| {
                            let it = state.sockets.iter().find(|it| it.number == number);
                            it.map(|it| it.out.send(Out::Drop))
                        });
                    });
                }
                Some(Out::Drop) | None => break,
            },
            frame = stream.recv() => match frame {
                Some(Ok(Message::Text(text))) => acknowledged(&fake, &text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => break,
            },
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
    }
    fake.change(|state| state.sockets.retain(|it| it.number != number));
}

fn acknowledged(fake: &FakeSlack, text: &str) {
    let frame: Value = serde_json::from_str(text).unwrap();
    fake.change(|state| {
        let id = frame["envelope_id"].as_str().unwrap_or_default();
        let known = state.interactions.iter_mut().find(|it| it.envelope == id);
        let violation = match known {
            None => format!("an acknowledgement of nothing: {text}"),
            Some(it) if it.acked.is_some() => format!("{id} is acknowledged twice"),
            Some(it) => {
                it.acked = Some(it.sent.elapsed());
                if it.sent.elapsed() < DEADLINE {
                    return;
                }
                format!("{id} is acknowledged after {:?}", it.sent.elapsed())
            }
        };
        state.violations.push(violation);
    });
}
