//! The page and its files.

use crate::{Shared, session::Access};
use axum::{
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use std::sync::Arc;

const PAGE: &str = include_str!("../assets/page.html");
const DOOR: &str = include_str!("../assets/door.html");
const STYLE: &str = include_str!("../assets/inbox.css");
const SCRIPT: &str = include_str!("../assets/inbox.js");
const DOOR_SCRIPT: &str = include_str!("../assets/door.js");
const ICON: &str = include_str!("../assets/icon.svg");

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

pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", STYLE)
}

pub(crate) async fn script() -> Response {
    file("text/javascript; charset=utf-8", SCRIPT)
}

pub(crate) async fn door_script() -> Response {
    file("text/javascript; charset=utf-8", DOOR_SCRIPT)
}

pub(crate) async fn icon() -> Response {
    file("image/svg+xml", ICON)
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

fn file(kind: &'static str, content: &'static str) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(kind))], content).into_response()
}
