//! The gateway: HELLO, IDENTIFY, READY, heartbeats, RESUME, and the ways in which it closes.

use super::world::{Out, Session, bot};
use super::{BOT, FakeDiscord, GUILD, TOKEN};
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The privileged intents: members, presences, message content.
const PRIVILEGED: u64 = 1 << 1 | 1 << 8 | 1 << 15;

pub(super) async fn connect(
    State(fake): State<FakeDiscord>,
    RawQuery(query): RawQuery,
    upgrade: WebSocketUpgrade,
) -> Response {
    if fake.lock().down {
        return axum::http::StatusCode::BAD_GATEWAY.into_response();
    }
    if !query.unwrap_or_default().contains("v=10") {
        fake.change(|state| state.violate("the gateway is dialled without v=10"));
    }
    upgrade.on_upgrade(move |socket| connection(fake, socket)).into_response()
}

async fn connection(fake: FakeDiscord, mut socket: WebSocket) {
    let (tell, mut told) = mpsc::unbounded_channel();
    // Discord's usual interval; the fake does not insist on heartbeats.
    let hello = json!({"op": 10, "s": null, "t": null, "d": {"heartbeat_interval": 41_250}});
    if socket.send(text(&hello)).await.is_err() {
        return;
    }
    let mut session = None;
    loop {
        tokio::select! {
            out = told.recv() => match out {
                Some(Out::Send(event)) => if socket.send(text(&event)).await.is_err() { break },
                Some(Out::Reconnect) => {
                    let _ = socket.send(text(&json!({"op": 7, "d": null}))).await;
                }
                Some(Out::Close(code)) => {
                    let frame = CloseFrame { code, reason: "".into() };
                    let _ = socket.send(Message::Close(Some(frame))).await;
                    break;
                }
                Some(Out::Drop) | None => break,
            },
            got = socket.recv() => match got {
                Some(Ok(Message::Text(raw))) => {
                    let payload: Value = serde_json::from_str(&raw).unwrap_or_default();
                    hear(&fake, &tell, &mut session, &payload);
                }
                Some(Ok(Message::Close(frame))) => {
                    // A close with 1000 or 1001 ends the session; any other one keeps it for a
                    // RESUME.
                    let ends = frame.is_some_and(|frame| matches!(frame.code, 1000 | 1001));
                    fake.change(|state| state.sessions.retain(|it| {
                        !ends || session.as_deref() != Some(it.id.as_str())
                    }));
                    // Reading on completes the closing handshake.
                    let _ = socket.recv().await;
                    break;
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    fake.change(|state| {
        let ours = state.sessions.iter_mut().filter(|it| session.as_deref() == Some(&it.id));
        // Only if this is still its connection: a RESUME may have given the session a newer one.
        ours.filter(|it| it.connection.as_ref().is_some_and(|now| now.same_channel(&tell)))
            .for_each(|it| it.connection = None);
    });
}

fn hear(
    fake: &FakeDiscord,
    tell: &mpsc::UnboundedSender<Out>,
    session: &mut Option<String>,
    payload: &Value,
) {
    let data = &payload["d"];
    let ours =
        data["token"].as_str().is_some_and(|token| token.trim_start_matches("Bot ") == TOKEN);
    let (refused, closes) = {
        let state = fake.lock();
        (state.token_refused || !ours, state.gateway_refusal)
    };
    // 1 heartbeat, 2 IDENTIFY, 3 presence update, 6 RESUME.
    let answer = match payload["op"].as_u64() {
        Some(1) => Some(Out::Send(json!({"op": 11, "s": null, "t": null, "d": null}))),
        Some(2 | 6) if refused => Some(Out::Close(4004)),
        Some(2 | 6) if closes.is_some() => closes.map(Out::Close),
        // An intent that the bot was not granted closes the connection.
        Some(2) if data["intents"].as_u64().is_none_or(|it| it & PRIVILEGED != 0) => {
            Some(Out::Close(4014))
        }
        Some(2) => {
            *session = Some(identify(fake, tell, data["intents"].as_u64().unwrap_or_default()));
            None
        }
        Some(6) => resume(fake, tell, session, data),
        Some(3) => None,
        _ => Some(Out::Close(4001)),
    };
    answer.map(|answer| tell.send(answer));
}

fn identify(fake: &FakeDiscord, tell: &mpsc::UnboundedSender<Out>, intents: u64) -> String {
    let url = fake.url.replace("http://", "ws://");
    fake.change(|state| {
        state.identified += 1;
        let id = format!("session-{}", state.identified);
        let connection = Some(tell.clone());
        let mut session = Session { id: id.clone(), intents, events: Vec::new(), connection };
        session.dispatch(
            "READY",
            &json!({
                "v": 10, "user": bot(), "session_id": id, "shard": [0, 1], "private_channels": [],
                "resume_gateway_url": format!("{url}/gateway"), "presences": [],
                "relationships": [], "guilds": [{"id": GUILD, "unavailable": true}],
                "application": {"id": BOT, "flags": 1 << 23}, "_trace": [],
            }),
        );
        state.sessions.push(session);
        id
    })
}

fn resume(
    fake: &FakeDiscord,
    tell: &mpsc::UnboundedSender<Out>,
    session: &mut Option<String>,
    data: &Value,
) -> Option<Out> {
    let invalid = Out::Send(json!({"op": 9, "s": null, "t": null, "d": false}));
    fake.change(|state| {
        let id = data["session_id"].as_str().unwrap_or_default();
        let Some(old) = state.sessions.iter_mut().find(|it| it.id == id) else {
            return Some(invalid);
        };
        *session = Some(old.id.clone());
        let seen = data["seq"].as_u64().unwrap_or_default();
        // Replays what the session has missed, in order.
        for event in old.events.iter().filter(|event| event["s"].as_u64() > Some(seen)) {
            let _ = tell.send(Out::Send(event.clone()));
        }
        old.connection = Some(tell.clone());
        old.dispatch("RESUMED", &json!({"_trace": []}));
        None
    })
}

fn text(value: &Value) -> Message {
    Message::Text(value.to_string().into())
}
