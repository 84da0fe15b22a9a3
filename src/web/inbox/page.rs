//! The page and its files.

use crate::{
    error::ApiError,
    inbox::{
        InboxState, Shared,
        guard::{as_localhost, is_public_https},
        session::AccessResult,
    },
    request::JsonReply,
};
use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
};
use flate2::{Compression, write::GzEncoder};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Write;

const PAGE: &str = include_str!("assets/page.html");
const DOOR: &str = include_str!("assets/door.html");
const SIGN_IN: &str = include_str!("assets/sign-in.html");

const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The worker that shows push messages.
const WORKER: &str = "worker.js";

/// A file of the pages, as `build.rs` puts it together.
struct Asset {
    name: &'static str,
    kind: &'static str,
    content: &'static [u8],
    /// The same, compressed.
    gzip: &'static [u8],
}

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        Asset {
            name: $name,
            kind: $kind,
            content: include_bytes!(concat!(env!("OUT_DIR"), "/", $name)),
            gzip: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")),
        }
    };
}

/// The files of all pages. They hold no secret, so anybody may have them.
const ASSETS: [Asset; 9] = [
    asset!("base.css", STYLE),
    asset!("inbox.css", STYLE),
    asset!("inbox.js", SCRIPT),
    asset!("door.js", SCRIPT),
    asset!("sign-in.js", SCRIPT),
    asset!("worker.js", SCRIPT),
    asset!("icon.svg", "image/svg+xml"),
    asset!("icon.png", "image/png"),
    asset!("manifest.webmanifest", "application/manifest+json"),
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
    State(inbox): Shared,
    Query(entry): Query<Entry>,
    headers: HeaderMap,
) -> Response {
    match (entry.token, as_localhost(&headers)) {
        (Some(token), Some(port)) => elsewhere(&inbox, (port, &token), &headers),
        (Some(token), None) => match inbox.session.admits(&token) {
            AccessResult::Granted => enter(&inbox, &headers),
            AccessResult::Refused => {
                tracing::warn!(adapter = "inbox", "someone came with a wrong access token");
                door(&inbox, &headers)
            }
        },
        (None, _) => match inbox.session.cookie_of(&headers) {
            AccessResult::Granted => html(&inbox, PAGE, &headers),
            AccessResult::Refused if inbox.sign_ins.by_cookie(&headers).is_some() => {
                html(&inbox, PAGE, &headers)
            }
            AccessResult::Refused => door(&inbox, &headers),
        },
    }
}

/// The page to which a sign-in link leads. Getting it uses nothing up.
pub(crate) async fn sign_in(State(inbox): Shared, headers: HeaderMap) -> Response {
    match as_localhost(&headers) {
        // The browser takes the code along.
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => {
            Redirect::to(&format!("{}/sign-in", address(&inbox, port))).into_response()
        }
        _ => html(&inbox, SIGN_IN, &headers),
    }
}

/// Proves the daemon to an open page, and gives it a challenge for its next request.
pub(crate) async fn hello(
    State(inbox): Shared,
    hello: Result<Query<Hello>, QueryRejection>,
) -> JsonReply<Value> {
    let said = hello.ok().and_then(|Query(Hello { nonce, session })| match session {
        None => inbox.proofs.hello(&inbox.session, &nonce),
        Some(id) => inbox.proofs.hello(&inbox.sign_ins.by_id(&id)?.session, &nonce),
    });
    let (challenge, proof) = said.ok_or_else(|| {
        ApiError::bad_request(
            "A hello needs a nonce of 16 to 64 plain characters, and a sign-in that lasts.",
        )
    })?;
    Ok(Json(json!({ "challenge": challenge, "proof": proof })))
}

/// One of the pages' files.
pub(crate) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    asset(&name, &headers)
}

/// The worker that shows push messages. Its address is the same at every start, because the browser
/// keeps it, and its folder has no page that it could control.
pub(crate) async fn worker(headers: HeaderMap) -> Response {
    asset(WORKER, &headers)
}

/// One of the files under an address that only these files and this start have, so the browser asks
/// for it once.
pub(crate) async fn file_of_start(
    State(inbox): Shared,
    Path((start, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let mut response = asset(&name, &headers);
    if start == inbox.session.start() && response.status() == StatusCode::OK {
        let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
        response.headers_mut().insert(header::CACHE_CONTROL, forever);
    }
    response
}

fn asset(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return ApiError::not_found("The inbox has no such file.").into_response();
    };
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
    let differs = (header::VARY, HeaderValue::from_static("accept-encoding"));
    if takes_gzip(headers) {
        let encoding = (header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return ([kind, differs, encoding], asset.gzip).into_response();
    }
    ([kind, differs], asset.content).into_response()
}

// SECURITY: only fixed files are compressed. A board and an answer of the API hold tokens beside
// words that agents choose, and a compressed length would tell of one through the other (BREACH).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|it| it.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
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
fn elsewhere(inbox: &InboxState, (port, token): (&str, &str), headers: &HeaderMap) -> Response {
    let plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !plain(token) || !plain(port) {
        return door(inbox, headers);
    }
    Redirect::to(&format!("{}/?token={token}", address(inbox, port))).into_response()
}

/// The address itself, of which `localhost` is a name.
fn address(inbox: &InboxState, port: &str) -> String {
    let v6 = inbox.allowed_hosts.iter().any(|host| host == "::1");
    let host = if v6 { "[::1]" } else { "127.0.0.1" };
    format!("http://{host}:{port}")
}

fn door(inbox: &InboxState, headers: &HeaderMap) -> Response {
    (StatusCode::UNAUTHORIZED, html(inbox, DOOR, headers)).into_response()
}

/// A page whose files are those of this start.
// SECURITY: another program on this port may have filled the browser's cache for other
// addresses.
fn html(inbox: &InboxState, page: &str, headers: &HeaderMap) -> Response {
    let page = page.replace("\"/inbox/", &format!("\"/inbox/{}/", inbox.session.start()));
    let small = takes_gzip(headers).then(|| {
        let mut small = GzEncoder::new(Vec::new(), Compression::default());
        small.write_all(page.as_bytes()).and_then(|()| small.finish()).ok()
    });
    match small.flatten() {
        Some(small) => ([(header::CONTENT_ENCODING, "gzip")], Html(small)).into_response(),
        None => Html(page).into_response(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn only_a_browser_that_takes_gzip_is_sent_it() {
        let cases = [
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("x-gzip, br", false),
            ("", false),
        ];
        for (accepts, takes) in cases {
            let value = HeaderValue::from_static(accepts);
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, value)]);
            assert_eq!(takes_gzip(&headers), takes, "{accepts}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn the_page_calls_a_scope_as_its_button_and_the_commands_do() {
        use countersign_domain::{GrantScope, Scope};
        let [grants, record] = [include_str!("assets/grants.js"), include_str!("assets/record.js")];
        for reach in ["session", "timed", "always", "budget", "review"] {
            let known: GrantScope = serde_json::from_value(reach.into()).unwrap();
            let says = format!("{reach}: \"{}\"", known.name());
            assert!(grants.contains(&says), "{says}");
        }
        for scope in ["once", "session", "always", "exact", "always_prefix", "10m", "24h"] {
            let says = format!("{scope}: \"{}\"", scope.parse::<Scope>().unwrap().name());
            let [bare, quoted] = [says.clone(), says.replacen(':', "\":", 1)];
            assert!(record.contains(&bare) || record.contains(&quoted), "{says}");
        }
    }

    #[test]
    fn every_file_that_a_page_names_is_served() {
        for page in [PAGE, DOOR, SIGN_IN] {
            let named = page.split("\"/inbox/").skip(1).filter_map(|rest| rest.split('"').next());
            for name in named {
                assert!(ASSETS.iter().any(|asset| asset.name == name), "{name}");
            }
        }
    }
}
