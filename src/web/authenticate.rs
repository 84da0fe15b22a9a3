//! Authenticates each request before any route sees it.

use super::{
    agent::known,
    error::ApiError,
    handle::{Handle, Surface, admitted},
    state::Api,
    token_proof::TokenProof,
};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

pub(super) async fn authenticate(
    State((api, surface)): State<(Api, Surface)>,
    request: Request,
    next: Next,
) -> Response {
    // A token proof comes first: its scheme is not `Bearer`, so it would be refused below.
    if let Some(proof) = TokenProof::of(&request) {
        return match proof.check(&api, surface, request).await {
            Ok(proven) => proven.serve(next).await,
            Err(error) => error.into_response(),
        };
    }
    match bearer(&api, surface, request.headers()).await {
        Ok(handle) => next.run(admitted(request, surface, handle)).await,
        Err(error) => error.into_response(),
    }
}

async fn bearer(api: &Api, surface: Surface, headers: &HeaderMap) -> Result<Handle, ApiError> {
    let unauthorized = |sentence: &str| ApiError::new(StatusCode::UNAUTHORIZED, sentence);
    let Some(given) = headers.get(header::AUTHORIZATION) else {
        return match surface {
            Surface::Socket => Ok(Handle::Agent),
            Surface::Tcp => Err(unauthorized("a token is needed: `Authorization: Bearer …`")),
        };
    };
    let token = given.to_str().ok().and_then(|given| given.strip_prefix("Bearer "));
    let token = token.ok_or_else(|| unauthorized("the token must be given as `Bearer …`"))?.trim();
    // FAIL-CLOSED: a wrong token gets no access, not even the socket's own handle.
    let (handle, _) = known(&api.keys, &api.store, |key| key.matches(token)).await?;
    Ok(handle)
}
