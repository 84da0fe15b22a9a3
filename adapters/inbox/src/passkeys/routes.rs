//! How a browser signs in with a passkey: it asks for a challenge, and brings what the
//! authenticator made of it.
//
// SECURITY: as with an identity provider the page that began keeps a secret of its own, so nobody
// finishes at one browser what began at another.

use super::{
    PasskeyRecords, PasskeySignIn, Passkeys,
    ceremonies::{CeremonyPurpose, LIFE},
    verify::{self, BroughtAssertion},
};
use crate::{
    begin_limit::{TOO_MANY, sender},
    guard::{refusal, same_origin},
    session::AccessResult,
    shared::InboxState,
    sign_in::{AWAY, FOREIGN, SignInReach, let_in},
    signed_in::LONGEST,
};
use axum::{
    Json, Router,
    extract::{Request, State, rejection::JsonRejection},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
    routing,
};
use serde::Deserialize;
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

pub(super) const OFF: &str = "There are no passkeys here. They need an https address with a host \
                              name ([daemon] public_url in the config), and with [oidc] \
                              `passkeys = true`.";
pub(super) const NO_RANDOMNESS: &str = "This system has no randomness.";
pub(super) const UNSTORED: &str =
    "countersign cannot read or store passkeys just now. Try again in a moment.";
/// One sentence for all: a stranger does not learn which passkeys exist.
const REFUSED: &str = "This passkey lets nobody in here (any more). Write /login to the bot for a \
                       link instead.";
/// What its person has to know, because somebody else may have a copy.
const COUNTER: &str = "This passkey was used in an order that only a copy of it explains, so it \
                       lets nobody in. Remove it, and add a new one.";

/// For browsers that are not signed in yet.
pub(crate) fn routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/passkey/begin", routing::post(begin))
        .route("/inbox/passkey/finish", routing::post(finish))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Finish {
    browser: String,
    passkey: BroughtAssertion,
}

async fn begin(State(inbox): State<Arc<InboxState>>, request: Request) -> Response {
    let passkeys = match ours(&inbox, request.headers()) {
        Ok(passkeys) => passkeys,
        Err(refused) => return *refused,
    };
    if inbox.begin_limit.admit(sender(&request), Instant::now()) == AccessResult::Refused {
        return refusal(StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    }
    let begun = passkeys.ceremonies().begin(CeremonyPurpose::SignIn, Instant::now());
    let Some(begun) = begun else {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR, NO_RANDOMNESS);
    };
    Json(json!({
        "browser": begun.browser,
        "publicKey": {
            "challenge": begun.challenge,
            "rpId": passkeys.party.host,
            "userVerification": "required",
            "timeout": milliseconds(LIFE),
        },
    }))
    .into_response()
}

async fn finish(
    State(inbox): State<Arc<InboxState>>,
    headers: HeaderMap,
    body: Result<Json<Finish>, JsonRejection>,
) -> Response {
    let passkeys = match ours(&inbox, &headers) {
        Ok(passkeys) => passkeys,
        Err(refused) => return *refused,
    };
    let Ok(Json(Finish { browser, passkey })) = body else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "This is no answer of a passkey.");
    };
    let (Some(records), Some(_core)) = (passkeys.records(), inbox.connected()) else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, AWAY);
    };
    match passkeys.signs_in(records.as_ref(), &browser, &passkey).await {
        Ok((id, presser)) => {
            let reach = SignInReach { longest: LONGEST, passkey: Some(id) };
            let_in(&inbox, &headers, presser, reach)
        }
        Err(NoPasskeySignIn::Refused(why)) => passkeys.refuse(why, REFUSED),
        Err(NoPasskeySignIn::Counter) => passkeys.refuse("its counter did not rise", COUNTER),
        Err(NoPasskeySignIn::Away(why)) => unstored(&why),
    }
}

/// Why nobody is let in.
enum NoPasskeySignIn {
    /// What was brought does not fit; for the log.
    Refused(&'static str),
    Counter,
    Away(String),
}

impl Passkeys {
    /// Whom a passkey lets in, with the passkey's id.
    // FAIL-CLOSED: nobody is let in of whom the log does not tell.
    async fn signs_in(
        &self,
        records: &dyn PasskeyRecords,
        browser: &str,
        brought: &BroughtAssertion,
    ) -> Result<(String, countersign_port::Presser), NoPasskeySignIn> {
        use NoPasskeySignIn::{Away, Counter, Refused};
        let begun = self.ceremonies().take(browser, Instant::now());
        let begun = begun.filter(|it| it.purpose == CeremonyPurpose::SignIn);
        let begun = begun.ok_or(Refused("no sign-in of this browser waits for it"))?;
        let found = records.find(&brought.id).await.map_err(|away| Away(away.0))?;
        let passkey = found.ok_or(Refused("nobody has such a passkey"))?;
        let checked = verify::assertion(&self.party, &begun.challenge, &passkey, brought);
        let counter = checked.map_err(Refused)?;
        match records.sign_in(&passkey, counter).await.map_err(|away| Away(away.0))? {
            PasskeySignIn::Done(presser) => Ok((passkey.id, presser)),
            PasskeySignIn::CounterRefused => Err(Counter),
            PasskeySignIn::Nobody => Err(Refused("its person may not answer any more")),
        }
    }

    pub(super) fn refuse(&self, why: &str, sentence: &str) -> Response {
        if let Some(count) = self.refused.count(Instant::now()) {
            tracing::warn!(adapter = "inbox", why, count, "a passkey was refused");
        }
        refusal(StatusCode::FORBIDDEN, sentence)
    }
}

/// The passkeys, for a request that a page of ours sent where they work.
pub(super) fn ours<'a>(
    inbox: &'a InboxState,
    headers: &HeaderMap,
) -> Result<&'a Passkeys, Box<Response>> {
    // SECURITY: no other site begins or ends a ceremony.
    if !same_origin(&Method::POST, headers, inbox.public_origin.as_deref()) {
        return Err(Box::new(refusal(StatusCode::FORBIDDEN, FOREIGN)));
    }
    let Some(passkeys) = inbox.passkeys.as_ref() else {
        return Err(Box::new(refusal(StatusCode::NOT_FOUND, OFF)));
    };
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    match origin == Some(passkeys.origin()) {
        true => Ok(passkeys),
        false => {
            let sentence =
                format!("Passkeys work at {} alone. Open the inbox there.", passkeys.origin());
            Err(Box::new(refusal(StatusCode::FORBIDDEN, &sentence)))
        }
    }
}

pub(super) fn unstored(why: &str) -> Response {
    tracing::warn!(adapter = "inbox", why, "passkeys cannot be read or stored");
    refusal(StatusCode::SERVICE_UNAVAILABLE, UNSTORED)
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
