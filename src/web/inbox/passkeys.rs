//! Passkeys (WebAuthn Level 3): a person who has signed in once adds one, and signs in with it
//! alone from then on.
//
// There is no attestation, and no CBOR is read: browsers hand out the public key and the
// authenticator's data apart from the attestation. The page that hands them over is our own. One
// that lies can give away its own person's account at most, as it could without passkeys.

mod own;
mod verify;

pub(crate) use own::own_routes;

use crate::{
    error::ApiError,
    inbox::{
        InboxState, PublicUrl, Shared,
        passkeys::verify::BroughtAssertion,
        push::Push,
        session::{LONGEST, same},
        sign_in::{
            AWAY, Begun, LogNowAndThen, SignInReach, from_our_page, let_in, may_begin,
            no_randomness, random,
        },
    },
    request::{JsonReply, Reply, Sent, sent},
};
use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, header},
    routing,
};
use countersign_gate::{ByPasskey, Gate};
use countersign_port::locked;
use countersign_store::StoreError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    future,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, Instant},
};

/// The passkeys of one inbox.
pub(crate) struct Passkeys {
    party: PublicUrl,
    ceremonies: Mutex<Ceremonies>,
    /// Where passkeys are stored; the first time counts.
    pub(crate) gate: OnceLock<Arc<Gate>>,
    refused: LogNowAndThen,
}

impl Passkeys {
    pub(crate) fn new(party: PublicUrl) -> Self {
        let (ceremonies, gate, refused) = Default::default();
        Self { party, ceremonies, gate, refused }
    }

    /// The origin at which they work.
    pub(crate) fn origin(&self) -> &str {
        &self.party.origin
    }

    fn gate(&self) -> Result<&Arc<Gate>, ApiError> {
        self.gate.get().ok_or_else(|| ApiError::unavailable(AWAY))
    }
}

// How a browser signs in with a passkey: it asks for a challenge, and brings what the
// authenticator made of it.
//
// SECURITY: as with an identity provider the page that began keeps a secret of its own, so nobody
// finishes at one browser what began at another.

pub(super) const OFF: &str = "There are no passkeys here. They need an https address with a host \
                              name ([daemon] public_url in the config), and with [oidc] \
                              `passkeys = true`.";
pub(super) const UNSTORED: &str =
    "countersign cannot read or store passkeys just now. Try again in a moment.";
/// One sentence for all: a stranger does not learn which passkeys exist.
const REFUSED: &str = "This passkey is not valid here (any more). Send /login to the bot for a \
                       link instead.";
/// What its person has to know, because somebody else may have a copy.
const COUNTER: &str = "This passkey seems to have been copied, so it is refused. Remove it, and \
                       add a new one.";

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

async fn begin(State(inbox): Shared, request: Request) -> JsonReply<Value> {
    let passkeys = ours(&inbox, request.headers())?;
    may_begin(&inbox, &request)?;
    let begun = locked(&passkeys.ceremonies).begin(CeremonyPurpose::SignIn, Instant::now());
    let begun = begun.ok_or_else(no_randomness)?;
    Ok(Json(json!({
        "browser": begun.browser,
        "publicKey": {
            "challenge": begun.challenge,
            "rpId": passkeys.party.host,
            "userVerification": "required",
            "timeout": milliseconds(LIFE),
        },
    })))
}

async fn finish(State(inbox): Shared, headers: HeaderMap, body: Sent<Finish>) -> Reply {
    let passkeys = ours(&inbox, &headers)?;
    let Finish { browser, passkey } = sent(body, "This is not a valid reply of a passkey.")?;
    let gate = passkeys.gate()?;
    inbox.connected().ok_or_else(|| ApiError::unavailable(AWAY))?;
    match passkeys.signs_in(gate, &browser, &passkey).await {
        Ok((id, presser)) => {
            let reach = SignInReach { longest: LONGEST, passkey: Some(id) };
            let_in(&inbox, &headers, presser, reach)
        }
        Err(NoPasskeySignIn::Refused(why)) => Err(passkeys.refuse(why, REFUSED)),
        Err(NoPasskeySignIn::Counter) => Err(passkeys.refuse("its counter did not rise", COUNTER)),
        Err(NoPasskeySignIn::Away(why)) => Err(unstored(why)),
    }
}

/// Why nobody is let in.
enum NoPasskeySignIn {
    /// What was brought does not fit; for the log.
    Refused(&'static str),
    Counter,
    Away(StoreError),
}

impl Passkeys {
    /// Whom a passkey lets in, with the passkey's id.
    // FAIL-CLOSED: nobody is let in of whom the log does not tell.
    async fn signs_in(
        &self,
        gate: &Gate,
        browser: &str,
        brought: &BroughtAssertion,
    ) -> Result<(String, countersign_port::Presser), NoPasskeySignIn> {
        use NoPasskeySignIn::{Away, Counter, Refused};
        let begun = locked(&self.ceremonies).take(browser, Instant::now());
        let begun = begun.filter(|it| it.purpose == CeremonyPurpose::SignIn);
        let begun = begun.ok_or(Refused("no sign-in of this browser waits for it"))?;
        let found = gate.passkey(&brought.id).await.map_err(Away)?;
        let passkey = found.ok_or(Refused("nobody has such a passkey"))?;
        let checked = verify::assertion(&self.party, &begun.challenge, &passkey, brought);
        let counter = checked.map_err(Refused)?;
        match gate.sign_in_by_passkey(&passkey, counter).await.map_err(Away)? {
            ByPasskey::Done(presser) => Ok((passkey.id, presser)),
            ByPasskey::CounterRefused => Err(Counter),
            ByPasskey::Nobody => Err(Refused("its person may not answer any more")),
        }
    }

    pub(super) fn refuse(&self, why: &str, sentence: &str) -> ApiError {
        if let Some(count) = self.refused.count(Instant::now()) {
            tracing::warn!(adapter = "inbox", why, count, "a passkey was refused");
        }
        ApiError::forbidden(sentence)
    }
}

/// The passkeys, for a request that a page of ours sent where they work.
pub(super) fn ours<'a>(
    inbox: &'a InboxState,
    headers: &HeaderMap,
) -> Result<&'a Passkeys, ApiError> {
    from_our_page(inbox, headers)?;
    let passkeys = inbox.passkeys.as_ref().ok_or_else(|| ApiError::not_found(OFF))?;
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    if origin == Some(passkeys.origin()) {
        Ok(passkeys)
    } else {
        let place = passkeys.origin();
        Err(ApiError::forbidden(format!("Passkeys work at {place} alone. Open the inbox there.")))
    }
}

pub(super) fn unstored(error: StoreError) -> ApiError {
    tracing::warn!(adapter = "inbox", %error, "passkeys cannot be read or stored");
    ApiError::unavailable(UNSTORED)
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

// Ends what somebody is shown and told who signed in with a passkey that was removed meanwhile,
// here or at another daemon of the store.

/// How often it is looked for passkeys that were removed elsewhere.
const LOOK: Duration = Duration::from_secs(5);

/// Goes on for ever.
pub(crate) async fn end_removed(inbox: &InboxState) {
    let Some(gate) = inbox.passkeys.as_ref().and_then(|it| it.gate.get()) else {
        return future::pending().await;
    };
    let mut removals = gate.passkey_removals();
    loop {
        keep_stored(inbox, gate).await;
        tokio::select! {
            Ok(()) = removals.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn keep_stored(inbox: &InboxState, gate: &Gate) {
    let pushed = inbox.push.iter().flat_map(Push::passkeys);
    let used: Vec<_> = inbox.sign_ins.passkeys().into_iter().chain(pushed).collect();
    if used.is_empty() {
        return;
    }
    match gate.passkeys().await {
        Ok(stored) => {
            // Somebody may have signed in with another one meanwhile.
            let is_stored = |id: &String| stored.iter().any(|(passkey, _)| passkey.id == *id);
            let gone: Vec<_> = used.into_iter().filter(|id| !is_stored(id)).collect();
            inbox.sign_ins.end_passkeys(&gone);
            inbox.push.iter().for_each(|push| push.end_passkeys(&gone));
        }
        // Without its store this daemon takes no answers either.
        Err(error) => tracing::debug!(%error, "passkeys cannot be read just now"),
    }
}

// Ceremonies that have begun and are not finished. Pure; time is an argument.

/// How long somebody has at their authenticator.
pub(super) const LIFE: Duration = Duration::from_secs(5 * 60);
/// The ceremonies that are open.
pub(super) struct Ceremonies(Begun<Ceremony>);

/// One ceremony.
#[derive(Clone)]
pub(super) struct Ceremony {
    /// What the authenticator signs.
    pub(super) challenge: String,
    /// Known to the page that began, and to no other.
    pub(super) browser: String,
    pub(super) purpose: CeremonyPurpose,
}

/// What a ceremony is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CeremonyPurpose {
    /// Somebody signs in, who is not known yet.
    SignIn,
    /// The person of this session adds a passkey.
    Add {
        /// The name of the session.
        session: String,
        /// What the authenticator is to know them by.
        handle: String,
    },
}

impl CeremonyPurpose {
    fn session(&self) -> Option<&str> {
        match self {
            Self::SignIn => None,
            Self::Add { session, .. } => Some(session),
        }
    }
}

impl Default for Ceremonies {
    fn default() -> Self {
        Self(Begun::new(LIFE))
    }
}

impl Ceremonies {
    /// Begins a ceremony; `None` without randomness. A session has one at a time.
    pub(super) fn begin(&mut self, purpose: CeremonyPurpose, now: Instant) -> Option<Ceremony> {
        let challenge = random()?;
        let browser = random()?;
        let own = purpose.session();
        self.0.keep(|it| own.is_none() || it.purpose.session() != own);
        Some(self.0.begin(Ceremony { challenge, browser, purpose }, now))
    }

    /// Takes the ceremony that this browser began. It is used up in any case.
    pub(super) fn take(&mut self, browser: &str, now: Instant) -> Option<Ceremony> {
        self.0.take(|it| same(&it.browser, browser), now)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::inbox::sign_in::MOST;

    fn add(session: &str) -> CeremonyPurpose {
        CeremonyPurpose::Add { session: session.to_owned(), handle: "h".to_owned() }
    }

    #[test]
    fn a_ceremony_is_finished_once_and_only_by_the_browser_that_began_it() {
        let mut all = Ceremonies::default();
        let now = Instant::now();
        let one = all.begin(CeremonyPurpose::SignIn, now).unwrap();
        let other = all.begin(CeremonyPurpose::SignIn, now).unwrap();
        assert!(one.challenge != other.challenge && one.browser != other.browser);
        assert!(all.take("", now).is_none() && all.take(&one.challenge, now).is_none());
        assert_eq!(all.take(&one.browser, now).unwrap().challenge, one.challenge);
        assert!(all.take(&one.browser, now).is_none(), "a second time");
        assert!(all.take(&other.browser, now + LIFE).is_none(), "too late");
        assert!(all.take(&other.browser, now).is_none(), "it was used up");
    }

    #[test]
    fn a_session_adds_one_passkey_at_a_time_and_the_oldest_of_too_many_makes_way() {
        let mut all = Ceremonies::default();
        let now = Instant::now();
        let first = all.begin(add("a"), now).unwrap();
        let bens = all.begin(add("b"), now).unwrap();
        let second = all.begin(add("a"), now).unwrap();
        assert!(all.take(&first.browser, now).is_none());
        assert_eq!(all.take(&second.browser, now).unwrap().purpose, add("a"));
        assert!(all.take(&bens.browser, now).is_some());
        let oldest = all.begin(CeremonyPurpose::SignIn, now).unwrap();
        for _ in 0..MOST {
            all.begin(CeremonyPurpose::SignIn, now).unwrap();
        }
        assert_eq!(all.0.len(), MOST);
        assert!(all.take(&oldest.browser, now).is_none());
    }
}
