//! What a request must be before a handler sees it.

use crate::{
    connections::Connection,
    error::ApiError,
    handle::Handle,
    inbox::{
        InboxState, Shared,
        proof::Proven,
        session::{AccessResult, Session, SignedIn},
    },
    request::Reply,
};
use axum::{
    body::{Body, to_bytes},
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use countersign_port::Presser;
use std::{net::IpAddr, sync::Arc, time::Instant};

/// A press is a token and a text; a text longer than this, in bytes, is no answer.
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

const FOREIGN_HOST: &str = "This host name is not the inbox's. Open the link printed by \
                            `countersign open`, or set [daemon] public_url to the address that \
                            people use.";
const FOREIGN_PAGE: &str = "This request came from another site, so nothing was pressed. Press on \
                            the inbox's own page.";
const NO_ACCESS: &str = "This page has no access. Open the link printed by `countersign open`.";
const TOO_LONG: &str = "The answer is too long (64 kB at most), so nothing was sent. Shorten it.";

/// For every request: the host it was meant for, and headers that keep the page to itself.
pub(crate) async fn every(State(inbox): Shared, request: Request, next: Next) -> Response {
    // SECURITY: a name that an attacker points at 127.0.0.1 would make their page the same origin
    // as this one (DNS rebinding); such a request names the attacker's host.
    let mut response = if known_host(request.headers(), &inbox.allowed_hosts) {
        next.run(request).await
    } else {
        ApiError::forbidden(FOREIGN_HOST).into_response()
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    // Only the pages' files may be kept, and say so.
    let keep = response.headers_mut().entry(header::CACHE_CONTROL);
    keep.or_insert(HeaderValue::from_static("no-store"));
    response
}

/// For cards and presses: the cookie, a proof made with the page's key for exactly this request
/// and, for whatever changes state, the same origin.
pub(crate) async fn data(State(inbox): Shared, request: Request, next: Next) -> Reply {
    let (mut parts, body) = request.into_parts();
    let too_long = |_| ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, TOO_LONG);
    let body = to_bytes(body, BODY_LIMIT).await.map_err(too_long)?;
    let text = String::from_utf8_lossy(&body);
    // SECURITY: with the query, which says what is read.
    let path = parts.uri.path_and_query().map_or("", |path| path.as_str());
    let asked = (&parts.method, path, &*text);
    let no_access = || ApiError::unauthorized(NO_ACCESS);
    let (visitor, challenge) = Visitor::of(&inbox, &parts.headers, asked).ok_or_else(no_access)?;
    // SECURITY: the proof alone keeps other sites out (they cannot make it, nor send it without a
    // preflight that is never answered); the origin is checked nonetheless.
    if !same_origin(&parts.method, &parts.headers, inbox.public_origin.as_deref()) {
        return Err(ApiError::forbidden(FOREIGN_PAGE));
    }
    parts.extensions.insert(Proven(challenge));
    if let Some(connection) = parts.extensions.get::<Arc<Connection>>() {
        connection.mark_proven();
    }
    parts.extensions.insert(Handle::Inbox(visitor.presser()));
    parts.extensions.insert(visitor.presser());
    parts.extensions.insert(visitor);
    Ok(next.run(Request::from_parts(parts, Body::from(body))).await)
}

/// Scripts and styles come from this origin's files alone; nothing may frame, sniff or learn of
/// the page; and `trusted-types` makes the browser itself refuse to parse text as HTML. Its one
/// policy (`push.js`) yields the address of the worker and nothing else.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src \
         'self'; manifest-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types countersign-worker",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// The port behind `localhost`, where that is the host that was asked for.
// SECURITY: `localhost` may lead to another address of this machine than the one that the daemon
// listens on, where somebody else may answer. No page lives under that name, so none can be talked
// to under it.
pub(crate) fn as_localhost(headers: &HeaderMap) -> Option<&str> {
    let authority = only(headers, &header::HOST)?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    host.eq_ignore_ascii_case("localhost").then_some(port)
}

fn known_host(headers: &HeaderMap, allowed: &[String]) -> bool {
    let Some(authority) = only(headers, &header::HOST) else { return false };
    let host = without_port(authority);
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        || allowed.iter().any(|name| address.eq_ignore_ascii_case(name))
}

/// Whether the browser says that the page itself sent this. A GET changes nothing, so it may say
/// nothing.
// A proxy may have replaced the host, so the configured origin counts as well.
pub(crate) fn same_origin(method: &Method, headers: &HeaderMap, public: Option<&str>) -> bool {
    let host = only(headers, &header::HOST);
    let origin = only(headers, &header::ORIGIN);
    let site = only(headers, &HeaderName::from_static("sec-fetch-site"));
    let of_host = origin.and_then(|origin| origin.split_once("://")).map(|(_, host)| host) == host;
    // SECURITY: under the public host there is one origin. That of plain http can be anybody's who
    // is on the way.
    let is_public = public.is_some_and(|public| {
        let hosts = host.zip(public.strip_prefix("https://"));
        hosts.is_some_and(|(host, public)| is_host(host, public))
    });
    let own = of_host && !is_public || origin.is_some() && origin == public;
    match (origin, site) {
        (None, None) => method == Method::GET || method == Method::HEAD,
        (None, Some(site)) => site == "same-origin",
        (Some(_), None) => own,
        (Some(_), Some(site)) => own && site == "same-origin",
    }
}

/// A header's value, if it is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether a request came in under the public origin, through https.
// A proxy may have replaced the host; the browser's own word for where it is stays.
pub(crate) fn is_public_https(headers: &HeaderMap, public: Option<&str>) -> bool {
    let Some(public) = public else { return false };
    public.strip_prefix("https://").is_some_and(|host| {
        only(headers, &header::HOST).is_some_and(|it| is_host(it, host))
            || only(headers, &header::ORIGIN) == Some(public)
    })
}

/// Whether a `Host` is this authority of an https origin, which names no default port.
fn is_host(host: &str, authority: &str) -> bool {
    host.strip_suffix(":443").unwrap_or(host).eq_ignore_ascii_case(authority)
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    }
}

// Who sent a request of the page.

/// Who sent a request, and the session that proves it.
#[derive(Clone)]
pub(crate) enum Visitor {
    /// Somebody who has come in by the inbox's address.
    Nameless,
    /// Somebody who has signed in.
    Person(Arc<SignedIn>, Presser),
}

// FAIL-CLOSED: a route outside the guard has no visitor, and its requests fail.
impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Reply<Self> {
        parts.extensions.get().cloned().ok_or_else(|| ApiError::unauthorized(NO_ACCESS))
    }
}

impl Visitor {
    /// Who made a proof, and its challenge; `None` for nobody whom we know.
    pub(crate) fn of(
        inbox: &InboxState,
        headers: &HeaderMap,
        asked: (&Method, &str, &str),
    ) -> Option<(Self, String)> {
        if let Some(challenge) = inbox.proofs.check(&inbox.session, headers, asked) {
            let cookie = inbox.session.cookie_of(headers);
            return (cookie == AccessResult::Granted).then_some((Self::Nameless, challenge));
        }
        let signed_in = inbox.sign_ins.by_cookie(headers)?;
        let challenge = inbox.proofs.check(&signed_in.session, headers, asked)?;
        Some((Self::known(inbox, signed_in)?, challenge))
    }

    /// The person of a session, as the core knows them now.
    // FAIL-CLOSED: a session ends with its person, and while the core is away it opens nothing.
    fn known(inbox: &InboxState, signed_in: Arc<SignedIn>) -> Option<Self> {
        match inbox.people()?.person(&signed_in.person) {
            Some(presser) => Some(Self::Person(signed_in, presser)),
            None => {
                tracing::info!(person = signed_in.person, "a session in the inbox has ended");
                inbox.sign_ins.end(&signed_in);
                None
            }
        }
    }

    /// Whether they may still see what they follow.
    pub(crate) fn stays(&self, inbox: &InboxState) -> AccessResult {
        match self {
            Self::Nameless => AccessResult::Granted,
            Self::Person(signed_in, _) => match inbox.sign_ins.lasts(signed_in) {
                AccessResult::Granted => {
                    AccessResult::from(Self::known(inbox, signed_in.clone()).is_some())
                }
                AccessResult::Refused => AccessResult::Refused,
            },
        }
    }

    /// When they are shown nothing more in any case.
    pub(crate) fn until(&self) -> Option<Instant> {
        match self {
            Self::Nameless => None,
            Self::Person(signed_in, _) => Some(signed_in.until),
        }
    }

    /// The session whose key proves what is sent to them.
    pub(crate) fn session<'a>(&'a self, inbox: &'a InboxState) -> &'a Session {
        match self {
            Self::Nameless => &inbox.session,
            Self::Person(signed_in, _) => &signed_in.session,
        }
    }

    /// As the core is told who pressed.
    pub(crate) fn presser(&self) -> Presser {
        match self {
            Self::Nameless => {
                let id = "local".to_owned();
                let name = "the local inbox".to_owned();
                Presser { id, name, roles: vec![] }
            }
            Self::Person(_, presser) => presser.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::try_from(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn only_loopback_and_configured_names_are_hosts() {
        let allowed = ["inbox.lan".to_owned(), "192.168.1.5".to_owned(), "fd00::5".to_owned()];
        let cases = [
            ("localhost:7117", true),
            ("LOCALHOST", true),
            ("127.0.0.1:7117", true),
            ("127.8.8.8", true),
            ("[::1]:7117", true),
            ("[::1]", true),
            ("inbox.lan:7117", true),
            ("Inbox.LAN", true),
            ("192.168.1.5:7117", true),
            ("[fd00::5]:7117", true),
            ("192.168.1.6:7117", false),
            ("evil.example:7117", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("evil.example:80@localhost", false),
            ("localhost:evil", false),
            ("", false),
            (":7117", false),
        ];
        for (host, known) in cases {
            assert_eq!(known_host(&headers(&[("host", host)]), &allowed), known, "`{host}`");
        }
        assert!(!known_host(&headers(&[]), &allowed));
        assert!(!known_host(&headers(&[("host", "localhost"), ("host", "evil")]), &allowed));
    }

    #[test]
    fn a_post_must_come_from_the_page_itself() {
        let host = ("host", "127.0.0.1:7117");
        let own = ("origin", "http://127.0.0.1:7117");
        let cases: [(&[(&'static str, &str)], bool); 9] = [
            (&[host, own, ("sec-fetch-site", "same-origin")], true),
            (&[host, own], true),
            (&[host, ("sec-fetch-site", "same-origin")], true),
            (&[host], false),
            (&[host, own, ("sec-fetch-site", "same-site")], false),
            (&[host, ("sec-fetch-site", "cross-site")], false),
            (&[host, ("origin", "http://127.0.0.1:3000")], false),
            (&[host, ("origin", "null"), ("sec-fetch-site", "same-origin")], false),
            (&[host, ("origin", "https://evil.example")], false),
        ];
        for (pairs, same) in cases {
            assert_eq!(same_origin(&Method::POST, &headers(pairs), None), same, "{pairs:?}");
        }
        assert!(same_origin(&Method::GET, &headers(&[host]), None));
        let near = headers(&[host, ("sec-fetch-site", "same-site")]);
        assert!(!same_origin(&Method::GET, &near, None));
    }

    #[test]
    fn a_cookie_is_for_https_alone_wherever_the_browser_came_by_https() {
        let public = Some("https://approve.example");
        let own = ("host", "127.0.0.1:7117");
        let cases: [(&[(&'static str, &str)], bool); 5] = [
            (&[("host", "approve.example")], true),
            (&[own, ("origin", "https://approve.example")], true),
            (&[own, ("origin", "http://127.0.0.1:7117")], false),
            (&[own, ("origin", "http://approve.example")], false),
            (&[own], false),
        ];
        for (pairs, https) in cases {
            assert_eq!(is_public_https(&headers(pairs), public), https, "{pairs:?}");
            assert!(!is_public_https(&headers(pairs), None));
            assert!(!is_public_https(&headers(pairs), Some("http://approve.example")));
        }
    }

    #[test]
    fn behind_a_proxy_that_replaces_the_host_the_public_origin_is_the_pages_own() {
        let host = ("host", "127.0.0.1:7117");
        let public = Some("https://approve.example");
        let cases = [
            ("https://approve.example", "same-origin", true),
            ("https://approve.example", "same-site", false),
            ("http://approve.example", "same-origin", false),
            ("https://approve.example:8443", "same-origin", false),
            ("https://evil.example", "same-origin", false),
        ];
        for (origin, site, same) in cases {
            let sent = headers(&[host, ("origin", origin), ("sec-fetch-site", site)]);
            assert_eq!(same_origin(&Method::POST, &sent, public), same, "{origin} {site}");
        }
        // Under the public host itself, too.
        for host in ["approve.example", "Approve.Example:443"] {
            let sent = |origin| headers(&[("host", host), ("origin", origin)]);
            let same = |origin| same_origin(&Method::POST, &sent(origin), public);
            assert!(same("https://approve.example"), "{host}");
            assert!(!same("http://approve.example") && !same("http://Approve.Example:443"));
        }
        let no_origin = headers(&[host]);
        assert!(!same_origin(&Method::POST, &no_origin, None), "no origin is no public origin");
    }

    #[tokio::test]
    async fn a_request_that_the_guard_has_not_seen_is_nobodys() {
        let (mut parts, ()) = axum::http::Request::new(()).into_parts();
        let refused = Visitor::from_request_parts(&mut parts, &()).await.err();
        let status = refused.map(|it| axum::response::IntoResponse::into_response(it).status());
        assert_eq!(status, Some(axum::http::StatusCode::UNAUTHORIZED));
    }
}
