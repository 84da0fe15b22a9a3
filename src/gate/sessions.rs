//! Sessions: the mode that one has of its own, and its end.

use super::{
    Gate,
    approvers::{Stranger, Who},
};
use crate::{clock, store::StoreError};
use std::sync::Arc;

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

impl Gate {
    /// Gives a session a mode of its own. Without an approver it can only be led back to the
    /// configured one.
    ///
    /// # Errors
    /// When there is no such mode, or the store fails; then nothing is changed.
    // SECURITY: a mode may allow what would be asked about; an agent never gives itself one.
    pub async fn set_mode(
        &self,
        agent: &str,
        session: &str,
        mode: &str,
        who: Option<Who>,
    ) -> Result<ModeSet, ModeError> {
        if !self.policy.system().has_mode(mode) {
            return Err(ModeError::Unknown(mode.to_owned()));
        }
        let configured = self.settings.mode.as_deref().unwrap_or("default");
        match who.map(|who| self.approvers.admit(who)) {
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
    pub async fn end_session(
        self: &Arc<Self>,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        let cancelled = self.abort_session(agent, session, why).await?;
        self.store.end_session(agent, session, clock::now_ms()).await?;
        Ok(cancelled)
    }

    /// Cancels what a session still asks; what was granted to it holds.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn abort_session(
        self: &Arc<Self>,
        agent: &str,
        session: &str,
        why: &str,
    ) -> Result<usize, StoreError> {
        let open = self.store.open_in_session(agent, session).await?;
        for id in &open {
            if self.store.whole_ask(id).await?.is_some() {
                self.cancel(id, why).await?;
            }
        }
        Ok(open.len())
    }
}
