//! The access that a request has.

use super::error::ApiError;
use crate::connections::Connection;
use axum::extract::Request;
use countersign_domain::owner::Owner;
use countersign_people::approvers::Who;
use countersign_port::Presser;
use countersign_store::Reads;
use countersign_tokens::{proof::Nonces, secret::TokenHash};
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

/// The tokens, as hashes, which is enough to compare them.
#[derive(Debug, Default)]
pub struct Keys {
    /// The agents' token.
    pub agent: Option<TokenHash>,
    /// The approvers' token.
    pub approver: Option<TokenHash>,
    /// The tokens of people.
    pub people: Vec<TokenHash>,
    /// The nonces of token proofs.
    pub(crate) nonces: Nonces,
}

impl Keys {
    /// The keys with these hashes.
    #[must_use]
    pub fn new(
        agent: Option<TokenHash>,
        approver: Option<TokenHash>,
        people: Vec<TokenHash>,
    ) -> Self {
        Self { agent, approver, people, nonces: Nonces::default() }
    }

    /// The handle of the token that `shows` accepts, and the token's hash.
    pub(super) fn of(&self, shows: impl Fn(&TokenHash) -> bool) -> Option<(Handle, &TokenHash)> {
        let shared = [(Handle::Approver, &self.approver), (Handle::Agent, &self.agent)];
        let shared = shared.into_iter().filter_map(|(handle, key)| Some((handle, key.as_ref()?)));
        let people = self.people.iter().map(|key| (Handle::Person(key.clone()), key));
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
        match self {
            // SECURITY: no approver by itself: the gate admits the person whose token it is now.
            Self::Person(token) => Ok(Who {
                platform: "api",
                id: token.id(),
                name: "a personal token".to_owned(),
                roles: Vec::new(),
            }),
            Self::Approver => Ok(Who {
                platform: "api",
                id: "approver".to_owned(),
                name: "the approver's token".to_owned(),
                roles: Vec::new(),
            }),
            // SECURITY: no approver by itself: the gate admits the inbox where it may answer.
            Self::Inbox(Presser { id, name, .. }) => {
                Ok(Who { platform: "inbox", id: id.clone(), name: name.clone(), roles: Vec::new() })
            }
            Self::Agent | Self::Named(_) => Err(ApiError::forbidden(
                "this handle may open asks and read their answers; answering needs the \
                 approver's token",
            )),
        }
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
