//! The page and its files.

use crate::inbox::{
    InboxState,
    guard::{as_localhost, is_public_https, refusal},
    session::AccessResult,
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

const PAGE: &str = include_str!("assets/page.html");
const DOOR: &str = include_str!("assets/door.html");
const SIGN_IN: &str = include_str!("assets/sign-in.html");
const WORKER: &[u8] = include_bytes!("assets/worker.js");

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file of the pages by its name.
macro_rules! file {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_bytes!(concat!("assets/", $name)) as &[u8])
    };
}

/// The files of both pages: name, type, content. They hold no secret, so anybody may have them.
const FILES: &[(&str, &str, &[u8])] = &[
    file!("base.css", STYLE),
    file!("inbox.css", STYLE),
    file!("card.css", STYLE),
    file!("pages.css", STYLE),
    file!("inbox.js", SCRIPT),
    file!("act.js", SCRIPT),
    file!("answerers.js", SCRIPT),
    file!("asks.js", SCRIPT),
    file!("bell.js", SCRIPT),
    file!("blocks.js", SCRIPT),
    file!("buttons.js", SCRIPT),
    file!("card.js", SCRIPT),
    file!("detail.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("door.js", SCRIPT),
    file!("filter.js", SCRIPT),
    file!("grants.js", SCRIPT),
    file!("history.js", SCRIPT),
    file!("keep.js", SCRIPT),
    file!("keys.js", SCRIPT),
    file!("line.js", SCRIPT),
    file!("list.js", SCRIPT),
    file!("pages.js", SCRIPT),
    file!("parts.js", SCRIPT),
    file!("passkey.js", SCRIPT),
    file!("passkeys.js", SCRIPT),
    file!("pause.js", SCRIPT),
    file!("person.js", SCRIPT),
    file!("proof.js", SCRIPT),
    file!("push.js", SCRIPT),
    file!("record.js", SCRIPT),
    file!("route.js", SCRIPT),
    file!("rules.js", SCRIPT),
    file!("sessions.js", SCRIPT),
    file!("settle.js", SCRIPT),
    file!("several.js", SCRIPT),
    file!("sight.js", SCRIPT),
    file!("sign-in.js", SCRIPT),
    file!("sound.js", SCRIPT),
    file!("status.js", SCRIPT),
    file!("time.js", SCRIPT),
    file!("icon.svg", "image/svg+xml"),
    file!("icon.png", "image/png"),
    file!("manifest.webmanifest", "application/manifest+json"),
];

#[derive(Deserialize)]
pub(crate) struct Entry {
    token: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Hello {
    nonce: String,
    /// The name of a sign-in; the inbox's own key without it.
    session: Option<String>,
}

/// The page for those who have the cookie, the way in for those who bring the token, the door for
/// everybody else.
pub(crate) async fn page(
    State(inbox): State<Arc<InboxState>>,
    Query(entry): Query<Entry>,
    headers: HeaderMap,
) -> Response {
    match (entry.token, as_localhost(&headers)) {
        (Some(token), Some(port)) => elsewhere(&inbox, port, &token),
        (Some(token), None) => match inbox.session.admits(&token) {
            AccessResult::Granted => enter(&inbox, &headers),
            AccessResult::Refused => {
                tracing::warn!(adapter = "inbox", "someone came with a wrong access token");
                door(&inbox)
            }
        },
        (None, _) => match inbox.session.cookie_of(&headers) {
            AccessResult::Granted => html(&inbox, PAGE).into_response(),
            AccessResult::Refused if inbox.sign_ins.by_cookie(&headers).is_some() => {
                html(&inbox, PAGE).into_response()
            }
            AccessResult::Refused => door(&inbox),
        },
    }
}

/// The page to which a sign-in link leads. Getting it uses nothing up.
pub(crate) async fn sign_in(State(inbox): State<Arc<InboxState>>, headers: HeaderMap) -> Response {
    match as_localhost(&headers) {
        // The browser takes the code along.
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => {
            Redirect::to(&format!("{}/sign-in", address(&inbox, port))).into_response()
        }
        _ => html(&inbox, SIGN_IN).into_response(),
    }
}

/// Proves the daemon to an open page, and gives it a challenge for its next request.
pub(crate) async fn hello(
    State(inbox): State<Arc<InboxState>>,
    hello: Result<Query<Hello>, QueryRejection>,
) -> Response {
    let said = hello.ok().and_then(|Query(Hello { nonce, session })| match session {
        None => inbox.proofs.hello(&inbox.session, &nonce),
        Some(id) => inbox.proofs.hello(&inbox.sign_ins.by_id(&id)?.session, &nonce),
    });
    match said {
        Some((challenge, proof)) => {
            Json(json!({ "challenge": challenge, "proof": proof })).into_response()
        }
        None => refusal(
            StatusCode::BAD_REQUEST,
            "A hello needs a nonce of 16 to 64 plain characters, \
                and a sign-in that lasts.",
        ),
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

/// The worker that shows push messages. Its address is the same at every start, because the browser
/// keeps it, and its folder has no page that it could control.
pub(crate) async fn worker() -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(SCRIPT))], WORKER).into_response()
}

/// The same under an address that only this start has.
pub(crate) async fn file_of_start(Path((_, name)): Path<(String, String)>) -> Response {
    file(Path(name)).await
}

fn enter(inbox: &InboxState, headers: &HeaderMap) -> Response {
    let mut response = Redirect::to(&inbox.session.entrance()).into_response();
    // Over http the browser would not keep a cookie for https.
    let only_https = is_public_https(headers, inbox.public_origin.as_deref());
    let cookie = inbox.session.set_cookie(if only_https { "; Secure" } else { "" });
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// On to the address itself: no page lives under the name `localhost`.
fn elsewhere(inbox: &InboxState, port: &str, token: &str) -> Response {
    let plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !plain(token) || !plain(port) {
        return door(inbox);
    }
    Redirect::to(&format!("{}/?token={token}", address(inbox, port))).into_response()
}

/// The address itself, of which `localhost` is a name.
fn address(inbox: &InboxState, port: &str) -> String {
    let v6 = inbox.allowed_hosts.iter().any(|host| host == "::1");
    let host = if v6 { "[::1]" } else { "127.0.0.1" };
    format!("http://{host}:{port}")
}

fn door(inbox: &InboxState) -> Response {
    (StatusCode::UNAUTHORIZED, html(inbox, DOOR)).into_response()
}

/// A page whose files are those of this start.
// SECURITY: another program on this port may have filled the browser's cache for other
// addresses.
fn html(inbox: &InboxState, page: &str) -> Html<String> {
    Html(page.replace("\"/inbox/", &format!("\"/inbox/{}/", inbox.session.start())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_that_a_file_imports_is_served() {
        for (name, kind, content) in FILES {
            let text =
                if *kind == SCRIPT { str::from_utf8(content).unwrap_or_default() } else { "" };
            for import in text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next())
            {
                assert!(FILES.iter().any(|(file, ..)| *file == import), "{name} imports {import}");
            }
        }
    }
}
