//! Which handle a request holds.

use super::fault::Fault;
use crate::{
    ask::owner::Owner, connections::Connection, gate::approvers::Who, proof::Nonces,
    secret::TokenHash,
};
use axum::extract::Request;
use std::sync::Arc;

/// What a request may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handle {
    /// Open asks, read their answers, take them back.
    Agent,
    /// Answer, too.
    Approver,
}

/// Where a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The unix socket, which only the same user can open: an agent's handle without a token.
    Socket,
    /// TCP: a token is needed.
    Tcp,
}

/// The tokens, as hashes: the daemon only has to compare them.
#[derive(Debug, Default)]
pub struct Keys {
    /// The agents' token.
    pub agent: Option<TokenHash>,
    /// The approvers' token.
    pub approver: Option<TokenHash>,
    /// What tokens are shown with where they are not sent.
    pub(crate) nonces: Nonces,
}

impl Keys {
    /// The tokens with these hashes.
    #[must_use]
    pub fn new(agent: Option<TokenHash>, approver: Option<TokenHash>) -> Self {
        Self { agent, approver, nonces: Nonces::default() }
    }

    /// The handle that a token gives, and the token's hash.
    pub(super) fn of(&self, shows: impl Fn(&TokenHash) -> bool) -> Option<(Handle, &TokenHash)> {
        let known = [(Handle::Approver, &self.approver), (Handle::Agent, &self.agent)];
        // Both are compared, so that the time tells nothing.
        let fits = known.map(|(handle, key)| (handle, key.as_ref().filter(|key| shows(key))));
        fits.into_iter().find_map(|(handle, key)| Some((handle, key?)))
    }
}

impl Handle {
    /// The approver who answers with this handle; an agent's is refused.
    ///
    /// # Errors
    /// 403 with a sentence.
    // SECURITY: an agent's handle never answers, on any surface.
    pub fn answerer(self) -> Result<Who, Fault> {
        match self {
            Self::Approver => Ok(Who {
                platform: "api",
                id: "approver".to_owned(),
                name: "the approver's token".to_owned(),
                roles: Vec::new(),
            }),
            Self::Agent => Err(Fault::forbidden(
                "this handle may open asks and read their answers; answering needs the \
                 approver's token",
            )),
        }
    }
}

/// The request as the routes get it, with the handle that it holds.
pub(super) fn admitted(mut request: Request, surface: Surface, handle: Handle) -> Request {
    if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
        connection.mark_proven();
    }
    request.extensions_mut().insert(handle);
    request.extensions_mut().insert(owner(surface, handle));
    request
}

/// The owner of the sessions that a request with this handle names.
fn owner(surface: Surface, handle: Handle) -> Owner {
    Owner::by(match (surface, handle) {
        // Only one user can open the socket.
        (Surface::Socket, Handle::Agent) => "unix:agent",
        (Surface::Tcp, Handle::Agent) => "tcp:agent",
        (_, Handle::Approver) => "approver",
    })
}
