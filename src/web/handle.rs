//! The access that a request has.

use crate::{connections::Connection, error::ApiError};
use axum::{
    extract::{FromRequestParts, Request},
    http::request::Parts,
};
use countersign_domain::Owner;
use countersign_gate::{Gate, ask::Ask};
use countersign_people::approvers::Who;
use countersign_port::Presser;
use countersign_store::{Event, Reads, Store, StoreError};
use countersign_tokens::{clock, proof::Nonces, secret::TokenHash};
use std::sync::Arc;

/// The access of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handle {
    /// May open asks, read their answers and cancel them: the agent of the shared token, or of
    /// the socket.
    Agent,
    /// The same for an agent with a token of its own.
    Named(NamedAgent),
    /// May also answer.
    Approver,
    /// May also answer, as the person whose own token it is.
    Person(TokenHash),
    /// The inbox's page: sees what an approver sees, and answers as the person at it.
    Inbox(Presser),
}

/// An agent with a token of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedAgent {
    /// The token's random id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose asks it may read.
    pub reads: Reads,
}

/// The listener that accepted a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The unix socket, which only the daemon's user can open; without a token it gives an agent's
    /// handle.
    Socket,
    /// TCP, which needs a token.
    Tcp,
}

/// The shared tokens, as hashes, which is enough to compare them. Those of people are in the config
/// that is in force.
#[derive(Debug, Default)]
pub struct Keys {
    /// The agents' token.
    pub agent: Option<TokenHash>,
    /// The approvers' token.
    pub approver: Option<TokenHash>,
    /// The nonces of token proofs.
    pub(crate) nonces: Nonces,
}

impl Keys {
    /// The keys with these hashes.
    #[must_use]
    pub fn new(agent: Option<TokenHash>, approver: Option<TokenHash>) -> Self {
        Self { agent, approver, nonces: Nonces::default() }
    }

    /// The handle of the token that `shows` accepts, of these and of `people`, and its hash.
    pub(super) fn of(
        &self,
        people: Vec<TokenHash>,
        shows: impl Fn(&TokenHash) -> bool,
    ) -> Option<(Handle, TokenHash)> {
        let shared = [(Handle::Approver, &self.approver), (Handle::Agent, &self.agent)];
        let shared = shared.into_iter().filter_map(|(handle, key)| Some((handle, key.clone()?)));
        let people = people.into_iter().map(|key| (Handle::Person(key.clone()), key));
        // All are always compared, so that the time does not show which one matched.
        let fits: Vec<_> = shared.chain(people).filter(|(_, key)| shows(key)).collect();
        fits.into_iter().next()
    }
}

impl Handle {
    /// Whether it sees what every agent asked and was granted.
    pub(super) fn sees_all(&self) -> bool {
        match self {
            Self::Approver | Self::Person(_) | Self::Inbox(_) => true,
            Self::Named(agent) => agent.reads == Reads::All,
            Self::Agent => false,
        }
    }

    /// The approver that answers with this handle; an agent's handle is refused.
    ///
    /// # Errors
    /// 403 with a sentence.
    // SECURITY: an agent's handle never answers, on any surface.
    pub fn answerer(&self) -> Result<Who, ApiError> {
        let (platform, id, name) = match self {
            // SECURITY: no approver by itself: the gate admits the person whose token it is now.
            Self::Person(token) => ("api", token.id(), "a personal token"),
            Self::Approver => ("api", "approver".to_owned(), "the approver's token"),
            // SECURITY: no approver by itself: the gate admits the inbox where it may answer.
            Self::Inbox(Presser { id, name, .. }) => ("inbox", id.clone(), name.as_str()),
            Self::Agent | Self::Named(_) => {
                return Err(ApiError::forbidden(
                    "this token may open asks and read their answers; this needs the approver's token",
                ));
            }
        };
        Ok(Who { platform, id, name: name.to_owned(), roles: Vec::new() })
    }
}

/// Adds the handle and the owner to an authenticated request, for the routes.
pub(super) fn admitted(mut request: Request, surface: Surface, handle: Handle) -> Request {
    // When all places are taken, connections that have never authenticated are closed first.
    if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
        connection.mark_proven();
    }
    request.extensions_mut().insert(owner(surface, &handle));
    request.extensions_mut().insert(handle);
    request
}

/// The owner of the sessions that a request with this handle names.
fn owner(surface: Surface, handle: &Handle) -> Owner {
    Owner::by(match (surface, handle) {
        // Without the token: only one user can open the socket. An agent over TCP is another owner,
        // though its handle is the same.
        (Surface::Socket, Handle::Agent) => "unix:agent",
        (Surface::Tcp, Handle::Agent) => "tcp:agent",
        (_, Handle::Named(agent)) => return Owner::by_token(&agent.id),
        (_, Handle::Approver) => "approver",
        (_, Handle::Person(token)) => return Owner::by(&format!("person:{}", token.id())),
        (_, Handle::Inbox(_)) => "inbox",
    })
}

// Who reads asks, and which of them.

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

    /// Whether its token is still accepted; the shared ones are until the daemon ends.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn is_accepted(&self, gate: &Gate, store: &Store) -> Result<bool, StoreError> {
        match &self.handle {
            Handle::Named(named) => {
                let token = store.agent_token(&named.id).await?;
                Ok(token.is_some_and(|token| token.is_accepted(clock::now_ms()).is_ok()))
            }
            Handle::Person(token) => Ok(gate.choices().approvers.people.tokens().contains(token)),
            Handle::Agent | Handle::Approver | Handle::Inbox(_) => Ok(true),
        }
    }

    fn owns(&self, ask: &Ask) -> bool {
        ask.body.owner.as_ref().is_some_and(|owner| owner.is_of_handle(&self.owner))
    }
}

impl<S: Sync> FromRequestParts<S> for AskReader {
    type Rejection = ApiError;

    // FAIL-CLOSED: a route outside the guard has no reader, and its requests fail.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let handle = parts.extensions.get();
        let owner = parts.extensions.get();
        match (handle.cloned(), owner.cloned()) {
            (Some(handle), Some(owner)) => Ok(Self { handle, owner }),
            _ => Err(ApiError::unauthorized("a token is needed")),
        }
    }
}
