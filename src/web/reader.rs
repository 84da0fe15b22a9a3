//! Who reads asks, and which of them.

use super::{error::ApiError, handle::Handle};
use axum::extract::FromRequestParts;
use axum::http::{StatusCode, request::Parts};
use countersign_domain::owner::Owner;
use countersign_gate::ask::Ask;
use countersign_store::{Event, Store, StoreError};
use countersign_tokens::clock;

/// Somebody who reads asks.
#[derive(Debug, Clone)]
pub(crate) struct AskReader {
    handle: Handle,
    owner: Owner,
}

impl AskReader {
    /// Whether it may read this ask.
    // FAIL-CLOSED: an ask of a version that noted no owner is for approvers only.
    pub(crate) fn may_read(&self, ask: &Ask) -> bool {
        self.handle.sees_all() || self.owns(ask)
    }

    /// Whether it may cancel this ask: to read all is not to cancel all.
    pub(crate) fn may_cancel(&self, ask: &Ask) -> bool {
        self.handle.answerer().is_ok() || self.owns(ask)
    }

    /// Whether it waits as the ask's caller, and does not only watch.
    pub(crate) fn is_caller_of(&self, ask: &Ask) -> bool {
        self.handle.answerer().is_err() && self.owns(ask)
    }

    /// Whether it may read this event of the log, with its ask as it is now.
    // FAIL-CLOSED: of an event of an ask that is gone, nobody knows whose it was.
    pub(crate) fn may_read_event(&self, event: &Event, ask: Option<&Ask>) -> bool {
        match (&self.handle, ask) {
            (handle, _) if handle.sees_all() => true,
            (_, Some(ask)) => self.owns(ask),
            (_, None) if event.ask.is_some() => false,
            _ if matches!(event.kind.as_str(), "paused" | "resumed") => true,
            (Handle::Named(named), None) => {
                event.data.get("token").is_some_and(|token| *token == *named.name)
            }
            (_, None) => event.kind == "ruled" && event.data.get("token").is_none(),
        }
    }

    /// Whether its token is still accepted; of all other handles the daemon's config says that.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn is_accepted(&self, store: &Store) -> Result<bool, StoreError> {
        let Handle::Named(named) = &self.handle else { return Ok(true) };
        let token = store.agent_token(&named.id).await?;
        Ok(token.is_some_and(|token| token.is_accepted(clock::now_ms()).is_ok()))
    }

    fn owns(&self, ask: &Ask) -> bool {
        ask.body.owner.as_ref().is_some_and(|owner| owner.is_of_handle(&self.owner))
    }
}

impl<S: Sync> FromRequestParts<S> for AskReader {
    type Rejection = ApiError;

    // FAIL-CLOSED: a route outside the guard has no reader, and its requests fail.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (handle, owner) = (parts.extensions.get(), parts.extensions.get());
        match (handle.cloned(), owner.cloned()) {
            (Some(handle), Some(owner)) => Ok(Self { handle, owner }),
            _ => Err(ApiError::new(StatusCode::UNAUTHORIZED, "a token is needed")),
        }
    }
}
