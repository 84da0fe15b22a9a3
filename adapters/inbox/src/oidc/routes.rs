//! How a browser signs in: it asks where to go, and brings back what the provider sent along.
//
// SECURITY: the provider leads the browser to the sign-in page. The page's own script then brings
// code and state here, with the secret of this sign-in. The page keeps that in the tab's own
// storage and not in a cookie, which programs at other ports of the host, or at a sibling's name,
// could read or plant.

use super::{NotSignedIn, Oidc};
use crate::{
    begin_limit::{TOO_MANY, sender},
    guard::{refusal, same_origin},
    passkeys::Passkeys,
    session::AccessResult,
    shared::InboxState,
    sign_in::{AWAY, FOREIGN, SignInReach, let_in},
};
use axum::{
    Json, Router,
    extract::{Request, State, rejection::JsonRejection},
    http::{HeaderMap, Method, StatusCode},
    response::{IntoResponse, Response},
    routing,
};
use serde::Deserialize;
use serde_json::json;
use std::{sync::Arc, time::Instant};

const OFF: &str = "Nobody signs in through an identity provider here ([oidc] in the config).";
const UNNOTED: &str = "countersign cannot note a sign-in just now, so nobody was signed in. Try \
                       again in a moment.";
/// The longest parameter, in bytes.
const LONGEST: usize = 4_096;

/// For browsers that are not signed in yet.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/sign-in/ways", routing::get(ways))
        .route("/inbox/oidc/begin", routing::post(begin))
        .route("/inbox/oidc/finish", routing::post(finish))
}

/// What the provider sent along with the browser.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Brought {
    code: String,
    state: String,
    iss: Option<String>,
    browser: String,
}

/// How somebody can sign in here.
async fn ways(State(inbox): State<Arc<InboxState>>) -> Response {
    let oidc = inbox.oidc.as_ref().map(Oidc::host);
    let passkey = inbox.passkeys.as_ref().map(Passkeys::origin);
    Json(json!({ "oidc": oidc, "passkey": passkey })).into_response()
}

async fn begin(State(inbox): State<Arc<InboxState>>, request: Request) -> Response {
    let oidc = match ours(&inbox, request.headers()) {
        Ok(oidc) => oidc,
        Err(refused) => return *refused,
    };
    if inbox.begin_limit.admit(sender(&request), Instant::now()) == AccessResult::Refused {
        return refusal(StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    }
    match oidc.begin().await {
        Ok((to, browser)) => Json(json!({ "to": to, "browser": browser })).into_response(),
        Err(why) => refused(oidc, why),
    }
}

async fn finish(
    State(inbox): State<Arc<InboxState>>,
    headers: HeaderMap,
    body: Result<Json<Brought>, JsonRejection>,
) -> Response {
    let oidc = match ours(&inbox, &headers) {
        Ok(oidc) => oidc,
        Err(refused) => return *refused,
    };
    let fits = |it: &Brought| it.code.len() <= LONGEST && it.state.len() <= LONGEST;
    let Some(Brought { code, state, iss, browser }) = body.ok().map(|Json(it)| it).filter(fits)
    else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "This is no answer of a sign-in.");
    };
    let Some(core) = inbox.connected() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, AWAY);
    };
    let id = match oidc.finish((&code, &state, iss.as_deref()), &browser).await {
        Ok(id) => id,
        Err(why) => return refused(oidc, why),
    };
    if core.signed_in(&format!("oidc:{id}")).is_none() {
        tracing::warn!(
            adapter = "inbox",
            id,
            "somebody without an entry in [[people]] came by OIDC"
        );
        let host = oidc.host();
        let sentence = format!(
            "{host} knows you as {id}, and nobody has that here. Ask the operator to add `oidc = \
             \"{id}\"` to your entry of [[people]]."
        );
        return refusal(StatusCode::FORBIDDEN, &sentence);
    }
    // FAIL-CLOSED: nobody is let in of whom the log does not tell.
    match core.sign_in_by_provider(&id).await {
        Some(presser) => {
            let reach = SignInReach { longest: oidc.session(), passkey: None };
            let_in(&inbox, &headers, presser, reach)
        }
        None => refusal(StatusCode::SERVICE_UNAVAILABLE, UNNOTED),
    }
}

/// The provider, for a request that a page of ours sent.
fn ours<'a>(inbox: &'a InboxState, headers: &HeaderMap) -> Result<&'a Oidc, Box<Response>> {
    // SECURITY: no other site begins or ends a sign-in.
    if !same_origin(&Method::POST, headers, inbox.public_origin.as_deref()) {
        return Err(Box::new(refusal(StatusCode::FORBIDDEN, FOREIGN)));
    }
    inbox.oidc.as_ref().ok_or_else(|| Box::new(refusal(StatusCode::NOT_FOUND, OFF)))
}

fn refused(oidc: &Oidc, why: NotSignedIn) -> Response {
    let host = oidc.host();
    let (why, status, sentence) = match why {
        NotSignedIn::Person(sentence) => {
            return refusal(StatusCode::FORBIDDEN, sentence);
        }
        NotSignedIn::Away(why) => {
            let sentence = format!("{host} cannot be asked just now. Try again in a moment.");
            (why, StatusCode::BAD_GATEWAY, sentence)
        }
        NotSignedIn::Invalid(why) => {
            let sentence = format!("What {host} sent back lets nobody in. Sign in once more.");
            (why, StatusCode::FORBIDDEN, sentence)
        }
    };
    if let Some(count) = oidc.failed.count(Instant::now()) {
        tracing::warn!(adapter = "inbox", host, why, count, "a sign-in by OIDC failed");
    }
    refusal(status, &sentence)
}
