//! A person's own passkeys: which they have, adding one, removing one.

use crate::{
    error::ApiError,
    inbox::{
        InboxState, Shared,
        guard::Visitor,
        passkeys::{
            CeremonyPurpose, LIFE, OFF, Passkeys, milliseconds, ours, unstored,
            verify::{self, ALGORITHMS, BroughtPasskey},
        },
        session::SignedIn,
        sign_in::{no_randomness, random},
    },
    request::{JsonReply, Sent, sent},
};
use axum::{
    Json, Router,
    extract::{Path, State},
    http::HeaderMap,
    routing,
};
use countersign_port::{Presser, line, locked};
use countersign_store::{PasskeyStored, StoredPasskey};
use countersign_tokens::clock;
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

async fn list(State(inbox): Shared, visitor: Visitor) -> JsonReply<Value> {
    let (signed_in, presser, passkeys) = person(&inbox, &visitor)?;
    let all = passkeys.gate()?.passkeys_of(&presser.id).await.map_err(unstored)?;
    Ok(Json(json!({
        "origin": passkeys.origin(),
        "recent": is_recent(signed_in),
        "passkeys": all.iter().map(view).collect::<Vec<_>>(),
    })))
}

async fn begin(State(inbox): Shared, visitor: Visitor, headers: HeaderMap) -> JsonReply<Value> {
    let (session, presser, passkeys) = adding(&inbox, &visitor, &headers)?;
    let all = passkeys.gate()?.passkeys_of(&presser.id).await.map_err(unstored)?;
    // One handle a person and host, so that an authenticator knows them again.
    let own = all.iter().find(|it| it.host == passkeys.party.host);
    let handle = own.map(|it| it.handle.clone()).or_else(random);
    let begun = handle.and_then(|handle| {
        let purpose = CeremonyPurpose::Add { session, handle: handle.clone() };
        Some((locked(&passkeys.ceremonies).begin(purpose, Instant::now())?, handle))
    });
    let (begun, handle) = begun.ok_or_else(no_randomness)?;
    let offered = ALGORITHMS.map(|number| json!({ "type": "public-key", "alg": number }));
    let known = all.iter().map(|it| json!({ "type": "public-key", "id": it.credential }));
    Ok(Json(json!({
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
    })))
}

async fn add(
    State(inbox): Shared,
    visitor: Visitor,
    headers: HeaderMap,
    body: Sent<NewPasskey>,
) -> JsonReply<Value> {
    let (session, presser, passkeys) = adding(&inbox, &visitor, &headers)?;
    let NewPasskey { browser, name, passkey: brought } =
        sent(body, "This is not a valid new passkey.")?;
    let name = name.trim();
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count()) && line(name) == name;
    if !fits {
        return Err(ApiError::unprocessable(BAD_NAME));
    }
    let gate = passkeys.gate()?;
    let begun = locked(&passkeys.ceremonies).take(&browser, Instant::now());
    let own = begun.and_then(|begun| match begun.purpose {
        CeremonyPurpose::Add { session: began, handle } if began == session => {
            Some((begun.challenge, handle))
        }
        CeremonyPurpose::Add { .. } | CeremonyPurpose::SignIn => None,
    });
    let none = || passkeys.refuse("no passkey of this session waits for it", REFUSED);
    let (challenge, handle) = own.ok_or_else(none)?;
    let checked = verify::registration(&passkeys.party, &challenge, &brought);
    let checked = checked.map_err(|why| passkeys.refuse(why, REFUSED))?;
    let id = random().ok_or_else(no_randomness)?;
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
        created_at: clock::machine_ms(),
        used_at: None,
    };
    let added = view(&new);
    match gate.add_passkey(new).await.map_err(unstored)? {
        Some(PasskeyStored::Done) => Ok(Json(json!({ "added": added }))),
        Some(PasskeyStored::Taken) => Err(ApiError::conflict(TAKEN)),
        Some(PasskeyStored::TooMany) => Err(ApiError::conflict(TOO_MANY)),
        None => Err(ApiError::forbidden(NAMELESS)),
    }
}

async fn remove(
    State(inbox): Shared,
    visitor: Visitor,
    Path(id): Path<String>,
) -> JsonReply<Value> {
    let (_, presser, passkeys) = person(&inbox, &visitor)?;
    if passkeys.gate()?.remove_own_passkey(&id, presser).await.map_err(unstored)? {
        Ok(Json(json!({})))
    } else {
        Err(ApiError::not_found("You have no such passkey (any more)."))
    }
}

/// The person of a page, where there are passkeys.
fn person<'a>(
    inbox: &'a InboxState,
    visitor: &'a Visitor,
) -> Result<(&'a SignedIn, &'a Presser, &'a Passkeys), ApiError> {
    match (visitor, inbox.passkeys.as_ref()) {
        (Visitor::Person(signed_in, presser), Some(passkeys)) => Ok((signed_in, presser, passkeys)),
        (_, None) => Err(ApiError::not_found(OFF)),
        (Visitor::Nameless, Some(_)) => Err(ApiError::forbidden(NAMELESS)),
    }
}

/// Somebody who may add a passkey now: the name of their session, and who they are.
fn adding<'a>(
    inbox: &'a InboxState,
    visitor: &Visitor,
    headers: &HeaderMap,
) -> Result<(String, Presser, &'a Passkeys), ApiError> {
    let passkeys = ours(inbox, headers)?;
    let Visitor::Person(signed_in, presser) = visitor else {
        return Err(ApiError::forbidden(NAMELESS));
    };
    match signed_in.session.id() {
        Some(session) if is_recent(signed_in) => {
            Ok((session.to_owned(), presser.clone(), passkeys))
        }
        _ => Err(ApiError::forbidden(NOT_RECENT)),
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
            let session = Session::new("a").of_person("1");
            let person = "chat:1".to_owned();
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
