//! The page and its files.

use crate::{Shared, guard::refusal, session::Access};
use axum::{
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use std::sync::Arc;

const PAGE: &str = include_str!("../assets/page.html");
const DOOR: &str = include_str!("../assets/door.html");

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of both pages: name, type, content. They hold no secret, so anybody may have them.
const FILES: [(&str, &str, &str); 9] = [
    ("inbox.css", STYLE, include_str!("../assets/inbox.css")),
    ("inbox.js", SCRIPT, include_str!("../assets/inbox.js")),
    ("bell.js", SCRIPT, include_str!("../assets/bell.js")),
    ("card.js", SCRIPT, include_str!("../assets/card.js")),
    ("keep.js", SCRIPT, include_str!("../assets/keep.js")),
    ("line.js", SCRIPT, include_str!("../assets/line.js")),
    ("settle.js", SCRIPT, include_str!("../assets/settle.js")),
    ("door.js", SCRIPT, include_str!("../assets/door.js")),
    ("icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

#[derive(Deserialize)]
pub(crate) struct Entry {
    token: Option<String>,
}

/// The page for those who have the cookie, the way in for those who bring the token, the door for
/// everybody else.
pub(crate) async fn page(
    State(inbox): State<Arc<Shared>>,
    Query(entry): Query<Entry>,
    headers: HeaderMap,
) -> Response {
    match entry.token {
        Some(token) => match inbox.session.admits(&token) {
            Access::Granted => enter(&inbox),
            Access::Refused => {
                tracing::warn!(adapter = "inbox", "someone came with a wrong access token");
                door()
            }
        },
        None => match inbox.session.cookie_of(&headers) {
            Access::Granted => Html(PAGE).into_response(),
            Access::Refused => door(),
        },
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

fn enter(inbox: &Shared) -> Response {
    let mut response = Redirect::to(&inbox.session.entrance()).into_response();
    if let Some(cookie) = inbox.session.set_cookie() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

fn door() -> Response {
    (StatusCode::UNAUTHORIZED, Html(DOOR)).into_response()
}
