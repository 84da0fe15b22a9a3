//! What the page asks of the push: the key to subscribe with, on and off.

use super::subscribers::Subscription;
use crate::{guard::refusal, shared::InboxState, visitor::Visitor};
use axum::{
    Extension, Json, Router,
    extract::{State, rejection::JsonRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing,
};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// To be put behind the guard of the page.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/push", routing::get(about).post(subscribe))
        .route("/inbox/push/stop", routing::post(stop))
}

#[derive(Deserialize)]
struct Stopped {
    endpoint: String,
}

async fn about(State(inbox): State<Arc<InboxState>>) -> Response {
    match &inbox.push {
        Some(push) => Json(json!({ "key": push.subscribers.key.public(), "shows": push.shows }))
            .into_response(),
        None => off(),
    }
}

async fn subscribe(
    State(inbox): State<Arc<InboxState>>,
    Extension(visitor): Extension<Visitor>,
    body: Result<Json<Subscription>, JsonRejection>,
) -> Response {
    let Some(push) = &inbox.push else { return off() };
    let Ok(Json(mut browser)) = body else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "This is no browser's subscription.");
    };
    if let Err(sentence) = browser.parts() {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, sentence);
    }
    (browser.person, browser.passkey) = match visitor {
        Visitor::Nameless => (None, None),
        Visitor::Person(signed_in, presser) => (Some(presser.id), signed_in.passkey.clone()),
    };
    kept(push.subscribers.add(browser))
}

async fn stop(
    State(inbox): State<Arc<InboxState>>,
    body: Result<Json<Stopped>, JsonRejection>,
) -> Response {
    let Some(push) = &inbox.push else { return off() };
    match body {
        Ok(Json(Stopped { endpoint })) => kept(push.subscribers.remove(&endpoint)),
        Err(_) => refusal(StatusCode::UNPROCESSABLE_ENTITY, "This names no browser."),
    }
}

fn kept(done: std::io::Result<()>) -> Response {
    match done {
        Ok(()) => Json(json!({})).into_response(),
        Err(error) => {
            tracing::error!(%error, "the subscribers of the push cannot be written");
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "countersign cannot keep this just now.")
        }
    }
}

fn off() -> Response {
    refusal(StatusCode::NOT_FOUND, "Push is off here ([daemon] push, or see the daemon's log).")
}
