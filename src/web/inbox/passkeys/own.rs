//! A person's own passkeys: which they have, adding one, removing one.

use crate::inbox::{
    InboxState,
    guard::{Visitor, refusal},
    passkeys::{
        CeremonyPurpose, LIFE, NO_RANDOMNESS, OFF, Passkeys, milliseconds, ours, unstored,
        verify::{self, ALGORITHMS, BroughtPasskey},
    },
    session::SignedIn,
    sign_in::{AWAY, random},
};
use axum::{
    Extension, Json, Router,
    extract::{Path, State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing,
};
use countersign_port::{Presser, line};
use countersign_store::{PasskeyStored, StoredPasskey};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// How long ago somebody may have signed in to add a passkey.
// SECURITY: who finds an open page, or gets at its key, makes no lasting way in of it.
const RECENT: Duration = Duration::from_secs(10 * 60);
/// The longest name, in characters.
const LONGEST_NAME: usize = 64;

const NAMELESS: &str = "Passkeys belong to people with names. Sign in first: send /login to the \
                        bot.";
const NOT_RECENT: &str = "You signed in more than 10 minutes ago. Sign out and in again, then add \
                          the passkey.";
const BAD_NAME: &str = "A passkey needs a name of 1 to 64 characters, such as “Ana's phone”.";
const TAKEN: &str = "This passkey is registered here already.";
const TOO_MANY: &str = "You have 20 passkeys, which is the most. Remove one first.";
const REFUSED: &str = "The browser's passkey is not valid for this inbox. Try again.";

/// To be put behind the guard of the page.
pub(crate) fn own_routes() -> Router<Arc<InboxState>> {
    Router::new()
        .route("/inbox/passkeys", routing::get(list).post(add))
        .route("/inbox/passkeys/begin", routing::post(begin))
        .route("/inbox/passkeys/{id}", routing::delete(remove))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPasskey {
    browser: String,
    name: String,
    passkey: BroughtPasskey,
}

async fn list(
    State(inbox): State<Arc<InboxState>>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let (signed_in, presser, passkeys) = match person(&inbox, &visitor) {
        Ok(found) => found,
        Err(refused) => return *refused,
    };
    let Some(gate) = passkeys.gate() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, AWAY);
    };
    match gate.passkeys_of(&presser.id).await {
        Ok(all) => Json(json!({
            "origin": passkeys.origin(),
            "recent": is_recent(signed_in),
            "passkeys": all.iter().map(view).collect::<Vec<_>>(),
        }))
        .into_response(),
        Err(error) => unstored(&error),
    }
}

async fn begin(
    State(inbox): State<Arc<InboxState>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
) -> Response {
    let (session, presser, passkeys) = match adding(&inbox, &visitor, &headers) {
        Ok(found) => found,
        Err(refused) => return *refused,
    };
    let Some(gate) = passkeys.gate() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, AWAY);
    };
    let all = match gate.passkeys_of(&presser.id).await {
        Ok(all) => all,
        Err(error) => return unstored(&error),
    };
    // One handle a person and host, so that an authenticator knows them again.
    let own = all.iter().find(|it| it.host == passkeys.party.host);
    let handle = own.map(|it| it.handle.clone()).or_else(random);
    let begun = handle.and_then(|handle| {
        let purpose = CeremonyPurpose::Add { session, handle: handle.clone() };
        Some((passkeys.ceremonies().begin(purpose, Instant::now())?, handle))
    });
    let Some((begun, handle)) = begun else {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR, NO_RANDOMNESS);
    };
    let offered = ALGORITHMS.map(|number| json!({ "type": "public-key", "alg": number }));
    let known = all.iter().map(|it| json!({ "type": "public-key", "id": it.credential }));
    Json(json!({
        "browser": begun.browser,
        "publicKey": {
            "challenge": begun.challenge,
            "rp": { "id": passkeys.party.host, "name": "countersign" },
            "user": { "id": handle, "name": presser.name, "displayName": presser.name },
            "pubKeyCredParams": offered,
            "excludeCredentials": known.collect::<Vec<_>>(),
            "authenticatorSelection": {
                "residentKey": "required",
                "requireResidentKey": true,
                "userVerification": "required",
            },
            "attestation": "none",
            "timeout": milliseconds(LIFE),
        },
    }))
    .into_response()
}

async fn add(
    State(inbox): State<Arc<InboxState>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    body: Result<Json<NewPasskey>, JsonRejection>,
) -> Response {
    let (session, presser, passkeys) = match adding(&inbox, &visitor, &headers) {
        Ok(found) => found,
        Err(refused) => return *refused,
    };
    let Ok(Json(NewPasskey { browser, name, passkey: brought })) = body else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "This is not a valid new passkey.");
    };
    let name = name.trim();
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count()) && line(name) == name;
    if !fits {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, BAD_NAME);
    }
    let Some(gate) = passkeys.gate() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, AWAY);
    };
    let begun = passkeys.ceremonies().take(&browser, Instant::now());
    let own = begun.and_then(|begun| match begun.purpose {
        CeremonyPurpose::Add { session: began, handle } if began == session => {
            Some((begun.challenge, handle))
        }
        CeremonyPurpose::Add { .. } | CeremonyPurpose::SignIn => None,
    });
    let Some((challenge, handle)) = own else {
        return passkeys.refuse("no passkey of this session waits for it", REFUSED);
    };
    let checked = match verify::registration(&passkeys.party, &challenge, &brought) {
        Ok(checked) => checked,
        Err(why) => return passkeys.refuse(why, REFUSED),
    };
    let Some(id) = random() else {
        return refusal(StatusCode::INTERNAL_SERVER_ERROR, NO_RANDOMNESS);
    };
    let plain = id.chars().filter(char::is_ascii_alphanumeric);
    let new = StoredPasskey {
        id: plain.map(|c| c.to_ascii_lowercase()).take(8).collect(),
        credential: brought.id,
        host: passkeys.party.host.clone(),
        person: presser.id,
        owner: presser.name,
        name: name.to_owned(),
        handle,
        public_key: brought.public_key,
        algorithm: brought.algorithm,
        counter: checked.counter,
        backup_eligible: checked.backup_eligible,
        created_at: crate::inbox::board::now(),
        used_at: None,
    };
    let added = view(&new);
    match gate.add_passkey(new).await {
        Ok(Some(PasskeyStored::Done)) => Json(json!({ "added": added })).into_response(),
        Ok(Some(PasskeyStored::Taken)) => refusal(StatusCode::CONFLICT, TAKEN),
        Ok(Some(PasskeyStored::TooMany)) => refusal(StatusCode::CONFLICT, TOO_MANY),
        Ok(None) => refusal(StatusCode::FORBIDDEN, NAMELESS),
        Err(error) => unstored(&error),
    }
}

async fn remove(
    State(inbox): State<Arc<InboxState>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Response {
    let (_, presser, passkeys) = match person(&inbox, &visitor) {
        Ok(found) => found,
        Err(refused) => return *refused,
    };
    let Some(gate) = passkeys.gate() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, AWAY);
    };
    match gate.remove_own_passkey(&id, presser).await {
        Ok(true) => Json(json!({})).into_response(),
        Ok(false) => refusal(StatusCode::NOT_FOUND, "You have no such passkey (any more)."),
        Err(error) => unstored(&error),
    }
}

/// The person of a page, where there are passkeys.
fn person<'a>(
    inbox: &'a InboxState,
    visitor: &'a Visitor,
) -> Result<(&'a SignedIn, &'a Presser, &'a Passkeys), Box<Response>> {
    let refused = |status, sentence| Err(Box::new(refusal(status, sentence)));
    match (visitor, inbox.passkeys.as_ref()) {
        (Visitor::Person(signed_in, presser), Some(passkeys)) => Ok((signed_in, presser, passkeys)),
        (_, None) => refused(StatusCode::NOT_FOUND, OFF),
        (Visitor::Nameless, Some(_)) => refused(StatusCode::FORBIDDEN, NAMELESS),
    }
}

/// Somebody who may add a passkey now: the name of their session, and who they are.
fn adding<'a>(
    inbox: &'a InboxState,
    visitor: &Visitor,
    headers: &HeaderMap,
) -> Result<(String, Presser, &'a Passkeys), Box<Response>> {
    let refused = |status, sentence| Err(Box::new(refusal(status, sentence)));
    let passkeys = ours(inbox, headers)?;
    let Visitor::Person(signed_in, presser) = visitor else {
        return refused(StatusCode::FORBIDDEN, NAMELESS);
    };
    match signed_in.session.id() {
        Some(session) if is_recent(signed_in) => {
            Ok((session.to_owned(), presser.clone(), passkeys))
        }
        _ => refused(StatusCode::FORBIDDEN, NOT_RECENT),
    }
}

fn is_recent(signed_in: &SignedIn) -> bool {
    signed_in.since.elapsed() < RECENT
}

fn view(passkey: &StoredPasskey) -> Value {
    json!({
        "id": passkey.id,
        "name": passkey.name,
        "host": passkey.host,
        "created_at": passkey.created_at,
        "used_at": passkey.used_at,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::inbox::session::Session;

    #[test]
    fn an_open_page_adds_no_passkey_once_its_sign_in_is_older_than_ten_minutes() {
        let at = |since: Instant| {
            let (session, person) = (Session::new("a").of_person("1"), "chat:1".to_owned());
            let until = since + RECENT * 100;
            is_recent(&SignedIn { session, person, passkey: None, since, until })
        };
        let now = Instant::now();
        assert!(at(now));
        // A machine that has only just started has no such time.
        let Some(old) = now.checked_sub(RECENT) else { return };
        assert!(!at(old));
        assert!(at(old + Duration::from_secs(5)));
    }
}
