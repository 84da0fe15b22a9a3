//! Signing in with a one-time code, who is signed in, and signing out.
//
// SECURITY: a link brings its code behind a `#`, so neither a server nor the preview of a link gets
// it; and only a press of a person on the page uses it up.

use crate::{
    guard::{is_public_https, refusal, same_origin},
    shared::InboxState,
    signed_in::LONGEST,
    visitor::Visitor,
};
use axum::{
    Extension, Json, Router,
    extract::{State, rejection::JsonRejection},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing,
};
use countersign_port::{Presser, Presses};
use serde::Deserialize;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

const NO_CODE: &str = "This link does not work (any more): it works once, for 10 minutes. Write \
                       /login to the bot for a new one.";
pub(crate) const AWAY: &str =
    "countersign is not ready. Try again in a moment; the link still works.";
pub(crate) const FOREIGN: &str =
    "This came from another site, so nobody was signed in. Open the link itself.";

/// For browsers that are not signed in yet.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/sign-in", routing::post(sign_in))
        .route("/inbox/sign-in/offer", routing::post(offer))
}

/// To be put behind the guard of the page.
pub(crate) fn own_routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/me", routing::get(me))
        .route("/inbox/sign-out", routing::post(sign_out))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BroughtCode {
    code: String,
}

type CodeBody = Result<Json<BroughtCode>, JsonRejection>;

/// Whom the code is for. It stays usable.
async fn offer(
    State(inbox): State<Arc<InboxState>>,
    headers: HeaderMap,
    body: CodeBody,
) -> Response {
    match brought(&inbox, &headers, body) {
        Ok((core, code)) => match core.sign_in_offered(&code) {
            Some(presser) => Json(json!({ "name": presser.name })).into_response(),
            None => refusal(StatusCode::NOT_FOUND, NO_CODE),
        },
        Err(refused) => *refused,
    }
}

/// Uses the code up, and lets the browser in as its person.
async fn sign_in(
    State(inbox): State<Arc<InboxState>>,
    headers: HeaderMap,
    body: CodeBody,
) -> Response {
    let (core, code) = match brought(&inbox, &headers, body) {
        Ok(brought) => brought,
        Err(refused) => return *refused,
    };
    let Some(presser) = core.sign_in(&code).await else {
        if let Some(count) = inbox.wrong_codes.count(Instant::now()) {
            tracing::warn!(adapter = "inbox", count, "sign-in links that do not work (any more)");
        }
        return refusal(StatusCode::NOT_FOUND, NO_CODE);
    };
    let_in(&inbox, &headers, presser, SignInReach { longest: LONGEST, passkey: None })
}

/// How far a sign-in reaches.
pub(crate) struct SignInReach {
    /// How long it lasts at most.
    pub(crate) longest: Duration,
    /// The passkey that it ends with.
    pub(crate) passkey: Option<String>,
}

/// Lets a browser in as somebody whom the core has let in.
pub(crate) fn let_in(
    inbox: &InboxState,
    headers: &HeaderMap,
    presser: Presser,
    reach: SignInReach,
) -> Response {
    tracing::info!(adapter = "inbox", person = presser.name, "somebody has signed in");
    let before = inbox.sign_ins.by_cookie(headers);
    let reach = (reach.longest, reach.passkey);
    let Some(begun) = inbox.sign_ins.begin(&inbox.session, presser.id, reach) else {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR, "This system has no randomness.");
    };
    // SECURITY: one person a browser. Pages of the one before stop showing requests.
    if let Some(before) = before {
        inbox.sign_ins.end(&before);
    }
    let mut response = Json(json!({ "entrance": begun.session.entrance() })).into_response();
    let only_https = is_public_https(headers, inbox.public_origin.as_deref());
    let cookie = begun.session.set_cookie(if only_https { "; Secure" } else { "" });
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// The core and the code, of a request that a page of ours sent.
fn brought(
    inbox: &InboxState,
    headers: &HeaderMap,
    body: CodeBody,
) -> Result<(Arc<dyn Presses>, String), Box<Response>> {
    let refused = |status, sentence| Err(Box::new(refusal(status, sentence)));
    // SECURITY: no other site signs somebody in, least of all as somebody else.
    if !same_origin(&Method::POST, headers, inbox.public_origin.as_deref()) {
        return refused(StatusCode::FORBIDDEN, FOREIGN);
    }
    let Ok(Json(BroughtCode { code })) = body else {
        return refused(StatusCode::UNPROCESSABLE_ENTITY, "This is no sign-in code.");
    };
    match inbox.connected() {
        Some(core) => Ok((core, code)),
        None => refused(StatusCode::SERVICE_UNAVAILABLE, AWAY),
    }
}

async fn me(Extension(visitor): Extension<Visitor>) -> Response {
    let name = match &visitor {
        Visitor::Nameless => None,
        Visitor::Person(_, presser) => Some(presser.name.clone()),
    };
    Json(json!({ "name": name })).into_response()
}

async fn sign_out(
    State(inbox): State<Arc<InboxState>>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let Visitor::Person(signed_in, presser) = visitor else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "Nobody is signed in here.");
    };
    inbox.sign_ins.end(&signed_in);
    tracing::info!(adapter = "inbox", person = presser.name, "somebody has signed out");
    let mut response = Json(json!({})).into_response();
    let cookie = signed_in.session.clear_cookie();
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}
