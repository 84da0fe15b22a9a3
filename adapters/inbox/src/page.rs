//! The page and its files.

use crate::{
    guard::{as_localhost, refusal},
    session::Access,
    shared::Shared,
};
use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

const PAGE: &str = include_str!("../assets/page.html");
const DOOR: &str = include_str!("../assets/door.html");

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of both pages: name, type, content. They hold no secret, so anybody may have them.
const FILES: [(&str, &str, &str); 11] = [
    ("inbox.css", STYLE, include_str!("../assets/inbox.css")),
    ("inbox.js", SCRIPT, include_str!("../assets/inbox.js")),
    ("bell.js", SCRIPT, include_str!("../assets/bell.js")),
    ("card.js", SCRIPT, include_str!("../assets/card.js")),
    ("keep.js", SCRIPT, include_str!("../assets/keep.js")),
    ("line.js", SCRIPT, include_str!("../assets/line.js")),
    ("pause.js", SCRIPT, include_str!("../assets/pause.js")),
    ("proof.js", SCRIPT, include_str!("../assets/proof.js")),
    ("settle.js", SCRIPT, include_str!("../assets/settle.js")),
    ("door.js", SCRIPT, include_str!("../assets/door.js")),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

#[derive(Deserialize)]
pub(crate) struct Entry {
    token: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Hello {
    nonce: String,
}

/// The page for those who have the cookie, the way in for those who bring the token, the door for
/// everybody else.
pub(crate) async fn page(
    State(inbox): State<Arc<Shared>>,
    Query(entry): Query<Entry>,
    headers: HeaderMap,
) -> Response {
    match (entry.token, as_localhost(&headers)) {
        (Some(token), Some(port)) => elsewhere(&inbox, port, &token),
        (Some(token), None) => match inbox.session.admits(&token) {
            Access::Granted => enter(&inbox),
            Access::Refused => {
                tracing::warn!(adapter = "inbox", "someone came with a wrong access token");
                door(&inbox)
            }
        },
        (None, _) => match inbox.session.cookie_of(&headers) {
            Access::Granted => html(&inbox, PAGE).into_response(),
            Access::Refused => door(&inbox),
        },
    }
}

/// Proves the daemon to an open page, and gives it a challenge for its next request.
pub(crate) async fn hello(
    State(inbox): State<Arc<Shared>>,
    hello: Result<Query<Hello>, QueryRejection>,
) -> Response {
    let said =
        hello.ok().and_then(|Query(Hello { nonce })| inbox.proofs.hello(&inbox.session, &nonce));
    match said {
        Some((challenge, proof)) => {
            Json(json!({ "challenge": challenge, "proof": proof })).into_response()
        }
        None => {
            refusal(StatusCode::BAD_REQUEST, "A hello needs a nonce of 16 to 64 plain characters.")
        }
    }
}

/// One of the pages' files.
pub(crate) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(file, ..)| *file == name) {
        Some((_, kind, content)) => {
            ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], *content).into_response()
        }
        None => refusal(StatusCode::NOT_FOUND, "The inbox has no such file."),
    }
}

/// The same under an address that only this start has.
pub(crate) async fn file_of_start(Path((_, name)): Path<(String, String)>) -> Response {
    file(Path(name)).await
}

fn enter(inbox: &Shared) -> Response {
    let mut response = Redirect::to(&inbox.session.entrance()).into_response();
    if let Some(cookie) = inbox.session.set_cookie() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// On to the address itself: no page lives under the name `localhost`.
fn elsewhere(inbox: &Shared, port: &str, token: &str) -> Response {
    let v6 = inbox.allowed_hosts.iter().any(|host| host == "::1");
    let host = if v6 { "[::1]" } else { "127.0.0.1" };
    let plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !plain(token) || !plain(port) {
        return door(inbox);
    }
    Redirect::to(&format!("http://{host}:{port}/?token={token}")).into_response()
}

fn door(inbox: &Shared) -> Response {
    (StatusCode::UNAUTHORIZED, html(inbox, DOOR)).into_response()
}

/// A page whose files are those of this start.
// SECURITY: whoever answered on this port before may have filled the browser's cache for other
// addresses.
fn html(inbox: &Shared, page: &str) -> Html<String> {
    Html(page.replace("\"/inbox/", &format!("\"/inbox/{}/", inbox.session.start())))
}
