//! Who sent a request of the page.

use crate::{
    session::{AccessResult, Session},
    shared::InboxState,
    signed_in::SignedIn,
};
use axum::http::{HeaderMap, Method};
use countersign_port::Presser;
use std::{sync::Arc, time::Instant};

/// Who sent a request, and the session that proves it.
#[derive(Clone)]
pub(crate) enum Visitor {
    /// Somebody who has come in by the inbox's address.
    Nameless,
    /// Somebody who has signed in.
    Person(Arc<SignedIn>, Presser),
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
        let core = inbox.connected()?;
        match core.signed_in(&signed_in.person) {
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
                let (id, name) = ("local".to_owned(), "the local inbox".to_owned());
                Presser { id, name, roles: vec![] }
            }
            Self::Person(_, presser) => presser.clone(),
        }
    }
}
