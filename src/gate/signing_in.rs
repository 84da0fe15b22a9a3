//! Signing in to the inbox, at the gate.

use super::{Gate, NoSignIn, approvers::Who};
use countersign_port::Presser;

/// How people with names get into the inbox.
impl Gate {
    /// Makes this code let a person with a name into the inbox, once. Returns until when (Unix
    /// milliseconds).
    ///
    /// # Errors
    /// [`NoSignIn`], for somebody without a name.
    pub fn begin_sign_in(&self, who: Who, code: &str) -> Result<i64, NoSignIn> {
        self.doors.begin(who, code)
    }

    /// The link that brings a sign-in code to the inbox.
    // SECURITY: no server and no preview of links sees what follows the `#`.
    #[must_use]
    pub fn sign_in_link(&self, code: &str) -> String {
        format!("{}/sign-in#{code}", self.in_force.now().settings.inbox)
    }

    /// Whom a sign-in code is for; it stays usable.
    #[must_use]
    pub fn sign_in_offered(&self, code: &str) -> Option<Presser> {
        self.doors.offered(code)
    }

    /// Uses a sign-in code up: whom it lets in.
    #[must_use]
    pub fn sign_in(&self, code: &str) -> Option<Presser> {
        self.doors.take(code)
    }

    /// The person who is signed in to the inbox under this id, as the config has them now.
    #[must_use]
    pub fn person_in_inbox(&self, id: &str) -> Option<Presser> {
        self.doors.known(id)
    }
}
