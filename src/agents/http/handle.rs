//! Which handle a request holds.

use super::Fault;
use crate::{connections::Connection, gate::approvers::Who, secret::TokenHash};
use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
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
}

impl Handle {
    /// Who answers with the approver's handle; all others are refused.
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
                "this handle may open asks and read their answers; answering needs the approver's token",
            )),
        }
    }
}

pub(super) async fn authenticate(
    State((keys, surface)): State<(Arc<Keys>, Surface)>,
    mut request: Request,
    next: Next,
) -> Response {
    match handle(&keys, surface, &request) {
        Ok(handle) => {
            if let Some(connection) = request.extensions().get::<Arc<Connection>>() {
                connection.mark_proven();
            }
            request.extensions_mut().insert(handle);
            next.run(request).await
        }
        Err(fault) => fault.into_response(),
    }
}

fn handle(keys: &Keys, surface: Surface, request: &Request) -> Result<Handle, Fault> {
    let unauthorized = |sentence: &str| Fault::new(StatusCode::UNAUTHORIZED, sentence);
    let Some(given) = request.headers().get(header::AUTHORIZATION) else {
        return match surface {
            Surface::Socket => Ok(Handle::Agent),
            Surface::Tcp => Err(unauthorized("a token is needed: `Authorization: Bearer …`")),
        };
    };
    let token = given.to_str().ok().and_then(|given| given.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| unauthorized("the token must be given as `Bearer …`"))?.trim();
    let is = |key: &Option<TokenHash>| key.as_ref().is_some_and(|key| key.matches(token));
    // FAIL-CLOSED: a token that is wrong gets nothing, not even the socket's own handle.
    match (is(&keys.approver), is(&keys.agent)) {
        (true, _) => Ok(Handle::Approver),
        (false, true) => Ok(Handle::Agent),
        (false, false) => Err(unauthorized("this token is not known here")),
    }
}
