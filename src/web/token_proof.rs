//! Proofs of a token that do not contain it, as our own clients send them where no TLS
//! authenticates the server.

use super::{
    agent::known,
    error::ApiError,
    handle::{Surface, admitted},
    state::{Api, LARGEST},
};
use axum::{
    Json,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use countersign_domain::wire::NonceReply;
use countersign_tokens::{
    proof::{self, SCHEME},
    secret::TokenHash,
};

/// `GET /v1/nonce`: the nonce for a token proof. Needs no token and changes nothing.
pub(super) async fn nonce(State(api): State<Api>) -> Result<Json<NonceReply>, ApiError> {
    match api.keys.nonces.fresh() {
        Some(nonce) => Ok(Json(NonceReply { nonce })),
        None => Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no nonce could be made")),
    }
}

/// A token proof that is not checked yet.
pub(super) struct TokenProof {
    nonce: String,
    masked: String,
}

/// A request with a valid token proof, and what its reply is proved with.
pub(super) struct VerifiedRequest {
    request: Request,
    about: ProofSubject,
    hash: TokenHash,
}

/// The request data that a proof covers.
struct ProofSubject {
    nonce: String,
    method: Method,
    target: String,
    body: Bytes,
}

impl TokenProof {
    /// The token proof of a request; `None` if it has none.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let given = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
        let (nonce, masked) = given.strip_prefix(SCHEME)?.split_once(':').unwrap_or_default();
        Some(Self { nonce: nonce.to_owned(), masked: masked.to_owned() })
    }

    /// Checks the proof against each known token.
    // FAIL-CLOSED: a wrong proof gets no access, not even the socket's own handle.
    pub(super) async fn check(
        self,
        api: &Api,
        surface: Surface,
        request: Request,
    ) -> Result<VerifiedRequest, ApiError> {
        let (parts, body) = request.into_parts();
        // The whole body is read first, because the proof covers it.
        let body = to_bytes(body, LARGEST).await.map_err(|_| {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large; 1 MiB at most")
        })?;
        let target = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let about = ProofSubject { nonce: self.nonce, method: parts.method.clone(), target, body };
        let shows = |key: &TokenHash| about.request().shows(key, &self.masked);
        let (handle, hash) = known(&api.keys, &api.store, shows).await?;
        // Checked after the token: a client without it cannot use up somebody else's nonce.
        if !api.keys.nonces.take(&about.nonce) {
            let used = "the token was shown with a nonce that is used, too old or not from here";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, used));
        }
        let request = Request::from_parts(parts, Body::from(about.body.clone()));
        Ok(VerifiedRequest { request: admitted(request, surface, handle), hash, about })
    }
}

impl VerifiedRequest {
    /// Serves the request; a complete JSON reply carries the daemon's own proof.
    pub(super) async fn serve(self, next: Next) -> Response {
        let Self { request, about, hash } = self;
        let (mut parts, body) = next.run(request).await.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("application/json")) {
            // A stream of events has no end to prove. None of our own clients reads one.
            return Response::from_parts(parts, body);
        }
        // No limit: the body is our own reply, already in memory.
        let Ok(body) = to_bytes(body, usize::MAX).await else {
            let failed = "the reply could not be put together";
            return ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, failed).into_response();
        };
        let proof = about.request().reply(&hash, parts.status.as_u16(), &body);
        if let Some(proof) = proof.and_then(|proof| HeaderValue::try_from(proof).ok()) {
            parts.headers.insert(proof::REPLY, proof);
        }
        Response::from_parts(parts, Body::from(body))
    }
}

impl ProofSubject {
    fn request(&self) -> proof::ProvenRequest<'_> {
        proof::ProvenRequest {
            nonce: &self.nonce,
            method: self.method.as_str(),
            target: &self.target,
            body: &self.body,
        }
    }
}
