//! Authenticates each request before any route sees it.

use super::{
    error::ApiError,
    handle::{Handle, Keys, Surface, admitted},
    token_proof::TokenProof,
};
use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::sync::Arc;

pub(super) async fn authenticate(
    State((keys, surface)): State<(Arc<Keys>, Surface)>,
    request: Request,
    next: Next,
) -> Response {
    // A token proof comes first: its scheme is not `Bearer`, so it would be refused below.
    if let Some(proof) = TokenProof::of(&request) {
        return match proof.check(&keys, surface, request).await {
            Ok(proven) => proven.serve(next).await,
            Err(error) => error.into_response(),
        };
    }
    match bearer(&keys, surface, &request) {
        Ok(handle) => next.run(admitted(request, surface, handle)).await,
        Err(error) => error.into_response(),
    }
}

fn bearer(keys: &Keys, surface: Surface, request: &Request) -> Result<Handle, ApiError> {
    let unauthorized = |sentence: &str| ApiError::new(StatusCode::UNAUTHORIZED, sentence);
    let Some(given) = request.headers().get(header::AUTHORIZATION) else {
        return match surface {
            Surface::Socket => Ok(Handle::Agent),
            Surface::Tcp => Err(unauthorized("a token is needed: `Authorization: Bearer …`")),
        };
    };
    let token = given.to_str().ok().and_then(|given| given.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| unauthorized("the token must be given as `Bearer …`"))?.trim();
    // FAIL-CLOSED: a wrong token gets no access, not even the socket's own handle.
    let known = keys.of(|key| key.matches(token));
    known.map(|(handle, _)| handle).ok_or_else(|| unauthorized("this token is not known here"))
}
