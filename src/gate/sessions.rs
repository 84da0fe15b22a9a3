//! Sessions: the mode that one has of its own, and its end.

use super::{
    approvers::{Stranger, Who},
    ask::Ask,
    attach::Callers,
    call::Call,
    in_force::InForce,
};
use countersign_store::{Store, StoreError};
use countersign_tokens::clock;
use std::sync::Arc;

/// Why an ask is cancelled whose worker is gone.
pub const WORKER_GONE: &str = "its worker disconnected";
/// Why an ask is cancelled whose session is over.
pub const SESSION_ENDED: &str = "its session ended";

/// What became of a wish for another mode.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ModeSet {
    /// The session has this mode now.
    Set(String),
    /// Only approvers may loosen.
    NotAllowed(&'static str),
}

/// Why a session's mode was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ModeError {
    /// The profile has no such mode.
    #[error("`{0}` is no mode of this profile")]
    Unknown(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The sessions of agents.
#[derive(Debug)]
pub(super) struct Sessions {
    pub(super) store: Store,
    pub(super) in_force: Arc<InForce>,
    pub(super) callers: Arc<Callers>,
}

impl Sessions {
    /// Gives a session a mode of its own. Without an approver it can only be led back to the
    /// configured one.
    ///
    /// # Errors
    /// When there is no such mode, or the store fails; then nothing is changed.
    // SECURITY: a mode may allow what would be asked about; an agent never gives itself one.
    pub(super) async fn set_mode(
        &self,
        agent: &str,
        session: &str,
        mode: &str,
        who: Option<Who>,
    ) -> Result<ModeSet, ModeError> {
        let choices = self.in_force.now();
        if !choices.policy.system().has_mode(mode) {
            return Err(ModeError::Unknown(mode.to_owned()));
        }
        let configured = choices.settings.mode.as_deref().unwrap_or("default");
        match who.map(|who| choices.approvers.admit(who)) {
            Some(Ok(_)) => {}
            None if mode == configured => {}
            Some(Err(Stranger(why))) => return Ok(ModeSet::NotAllowed(why)),
            None => {
                return Ok(ModeSet::NotAllowed(
                    "an agent's handle can only lead a session back to the configured mode; \
                     another one needs the approver's token",
                ));
            }
        }
        self.store.set_session_mode(agent, session, mode, clock::now_ms()).await?;
        tracing::info!(agent, session, mode, "the session's mode was set");
        Ok(ModeSet::Set(mode.to_owned()))
    }

    /// Ends a session: its open asks are cancelled, what was granted to it and its mode are over.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn end(
        &self,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        let cancelled = self.abort(agent, session, why).await?;
        self.store.end_session(agent, session, clock::now_ms()).await?;
        // Its thread is closed, though none of its asks changed.
        self.callers.open.changed();
        Ok(cancelled)
    }

    /// Cancels what a session still asks; what was granted to it holds.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn abort(
        &self,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        let open = self.store.open_in_session(agent, session).await?;
        for id in &open {
            if self.store.whole_ask(id).await?.is_some() {
                self.callers.cancel(id, why).await?;
            }
        }
        Ok(open.len())
    }

    /// Cancels what a worker's sessions ask, and ends what was granted to them.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn worker_gone(&self, agent: &str, worker: &str) -> Result<usize, StoreError> {
        let mut sessions: Vec<String> = Vec::new();
        for state in ["open", "answered"] {
            let note = |ask: &Ask| {
                let Call { agent: whose, session, worker: of, .. } = &ask.body.call;
                if whose == agent && of.as_deref() == Some(worker) && !sessions.contains(session) {
                    sessions.push(session.clone());
                }
            };
            self.store.each_ask_in(state, note).await?;
        }
        let mut cancelled = 0;
        for session in sessions {
            cancelled += self.end(agent, &session, WORKER_GONE).await?;
        }
        Ok(cancelled)
    }

    /// The one open ask of a session that `is` what is looked for.
    ///
    /// # Errors
    /// When the store fails.
    // SECURITY: an ask of another session is never found.
    pub(super) async fn open_ask(
        &self,
        session: &str,
        is: impl Fn(&Ask) -> bool + Sync,
    ) -> Result<Option<Ask>, StoreError> {
        let mut found = Vec::new();
        let note = |ask: &Ask| {
            if ask.body.call.session == session && is(ask) {
                found.push(ask.clone());
            }
        };
        self.store.each_ask_in("open", note).await?;
        Ok(found.pop().filter(|_| found.is_empty()))
    }
}
