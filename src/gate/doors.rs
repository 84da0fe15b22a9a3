//! Lets named people into the inbox: codes, and who is still somebody.

use super::{
    approvers::Who,
    in_force::InForce,
    sign_ins::{SignInCodes, presser},
};
use countersign_port::Presser;
use countersign_tokens::clock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why somebody gets no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoSignIn(pub &'static str);

/// What is told to somebody without a name.
const NAMELESS: &str = "Only people with a name in the config ([[people]]) can sign in.";

/// The way into the inbox for people with names.
#[derive(Debug)]
pub(super) struct InboxDoor {
    codes: Mutex<SignInCodes>,
    in_force: Arc<InForce>,
}

impl InboxDoor {
    pub(super) fn new(in_force: Arc<InForce>) -> Self {
        Self { codes: Mutex::default(), in_force }
    }

    /// Makes this code work for somebody who may answer under a name.
    pub(super) fn begin(&self, who: Who, code: &str) -> Result<i64, NoSignIn> {
        let approver = self.in_force.admit(who).map_err(|stranger| NoSignIn(stranger.0))?;
        let name = approver.person().ok_or(NoSignIn(NAMELESS))?;
        let presser = presser(approver.who(), name);
        Ok(self.now().begin(presser, code, clock::now_ms()))
    }

    pub(super) fn offered(&self, code: &str) -> Option<Presser> {
        let offered = self.now().offered(code, clock::now_ms()).cloned();
        self.known(&offered?.id)
    }

    pub(super) fn take(&self, code: &str) -> Option<Presser> {
        let taken = self.now().take(code, clock::now_ms());
        self.known(&taken?.id)
    }

    /// Takes back the codes of people who have left the config: they do not come back with them.
    pub(super) fn people_changed(&self) {
        self.now().keep_people(|id| self.known(id).is_some());
    }

    /// The person whom the inbox knows by this id, as the config has them now.
    pub(super) fn known(&self, id: &str) -> Option<Presser> {
        let choices = self.in_force.now();
        let name = choices.approvers.people.find("inbox", id)?.name.clone();
        Some(Presser { id: id.to_owned(), name, roles: Vec::new() })
    }

    fn now(&self) -> MutexGuard<'_, SignInCodes> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
