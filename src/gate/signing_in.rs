//! Signing in to the inbox, at the gate.

use super::{Gate, NoSignIn, approvers::OIDC, approvers::Who, ask::By, in_force::INBOX};
use countersign_port::Presser;
use countersign_tokens::clock;
use serde_json::json;

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

    /// Uses a sign-in code up, and notes in the log whom it lets in.
    pub async fn sign_in(&self, code: &str) -> Option<Presser> {
        let presser = self.doors.take(code)?;
        self.note_sign_in(presser).await
    }

    /// Lets in the person for whom the identity provider vouches by this id, and notes it in the
    /// log.
    pub async fn sign_in_by_provider(&self, id: &str) -> Option<Presser> {
        let presser = self.doors.known(&format!("{OIDC}:{id}"))?;
        self.note_sign_in(presser).await
    }

    // FAIL-CLOSED: nobody is let in of whom the log does not tell.
    async fn note_sign_in(&self, presser: Presser) -> Option<Presser> {
        let Presser { id, name, .. } = presser.clone();
        let by = By::Person { platform: INBOX.to_owned(), id, name };
        let (now, data) = (clock::now_ms(), json!({ "by": by }));
        let noted = self.open.store.note(now, "signed_in", None, &data).await;
        let noted = noted.inspect_err(|error| tracing::warn!(%error, "a sign-in was not noted"));
        noted.ok().map(|()| presser)
    }

    /// The person who is signed in to the inbox under this id, as the config has them now.
    #[must_use]
    pub fn person_in_inbox(&self, id: &str) -> Option<Presser> {
        self.doors.known(id)
    }
}
