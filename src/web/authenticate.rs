//! Authenticates each request before any route sees it: by a token, or by a proof of one.

use crate::{
    error::ApiError,
    handle::{Handle, NamedAgent, Surface, admitted},
    request::JsonReply,
    {Api, LARGEST},
};
use axum::{
    Json,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use countersign_domain::wire::{NonceReply, routes};
use countersign_gate::name_taken;
use countersign_store::AgentToken;
use countersign_tokens::{
    clock,
    proof::{self, SCHEME},
    secret::TokenHash,
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
    match bearer(&api, surface, request.uri().path(), request.headers()).await {
        Ok(handle) => next.run(admitted(request, surface, handle)).await,
        Err(error) => error.into_response(),
    }
}

async fn bearer(
    api: &Api,
    surface: Surface,
    path: &str,
    headers: &HeaderMap,
) -> Result<Handle, ApiError> {
    let Some(given) = headers.get(header::AUTHORIZATION) else {
        return match surface {
            Surface::Socket => Ok(Handle::Agent),
            Surface::Tcp => {
                Err(ApiError::unauthorized("a token is needed: `Authorization: Bearer …`"))
            }
        };
    };
    let token = given.to_str().ok().and_then(|given| token_in(path, given));
    let token =
        token.ok_or_else(|| ApiError::unauthorized("the token must be given as `Bearer …`"))?;
    // FAIL-CLOSED: a wrong token gets no access, not even the socket's own handle.
    let (handle, _) = known(api, |key| key.matches(&token)).await?;
    Ok(handle)
}

/// The token in the value of `Authorization`. nono sets no header, but its HTTP client makes one of
/// the password in the webhook's address.
fn token_in(path: &str, given: &str) -> Option<String> {
    if let Some(token) = given.strip_prefix("Bearer ") {
        return Some(token.trim().to_owned());
    }
    let pair = given.strip_prefix("Basic ").filter(|_| path == routes::NONO)?;
    let pair = String::from_utf8(STANDARD.decode(pair.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(_, token)| token.to_owned())
}

// The agent whose token a request brings.

/// How long the note of a token's last use is good enough.
const USED_WITHIN_MS: i64 = 60_000;

/// The handle of the token that `shows` accepts, and the token's hash.
// SECURITY: people's tokens are those of this daemon's config in force, and agents' own are read from
// the store for each request: one that a reload removed, or that was revoked or rotated at another
// daemon, is refused from then on.
pub(super) async fn known(
    api: &Api,
    shows: impl Fn(&TokenHash) -> bool + Send + Sync,
) -> Result<(Handle, TokenHash), ApiError> {
    let people = api.gate.choices().approvers.people.tokens();
    if let Some(known) = api.keys.of(people, &shows) {
        return Ok(known);
    }
    let store = &api.store;
    let now = clock::now_ms();
    let tokens = store.agent_tokens().await?;
    // All are always compared, so that the time does not show which one matched.
    let shown = |token: &AgentToken| Some((token.clone(), token.shown(now, &shows)?.clone()));
    let fits: Vec<_> = tokens.iter().filter_map(shown).collect();
    let Some((token, hash)) = fits.into_iter().next() else {
        return Err(ApiError::unauthorized(
            "the daemon does not know this token: compare [client] token with the daemon's config",
        ));
    };
    if let Err(why) = token.is_accepted(now) {
        let name = token.name;
        return Err(ApiError::unauthorized(format!("the agent `{name}` is refused: {why}")));
    }
    if token.used_at.is_none_or(|at| now.saturating_sub(at) >= USED_WITHIN_MS) {
        // No request fails because of this note.
        if let Err(error) = store.agent_token_used(&token.id, now).await {
            tracing::debug!(%error, "the last use of a token was not noted");
        }
    }
    let AgentToken { id, name, reads, .. } = token;
    Ok((Handle::Named(NamedAgent { id, name, reads }), hash))
}

impl Handle {
    /// The name under which this handle's agent acts.
    ///
    /// # Errors
    /// 403 where that is the name of an agent with a token of its own.
    // SECURITY: who has no token acts for nobody who has one.
    pub(super) async fn acts_as(&self, api: &Api, agent: String) -> Result<String, ApiError> {
        match self {
            Self::Named(named) => Ok(named.name.clone()),
            Self::Agent => match name_taken(&api.store, &agent).await? {
                Some(why) => Err(ApiError::forbidden(why)),
                None => Ok(agent),
            },
            Self::Approver | Self::Person(_) | Self::Inbox(_) => Ok(agent),
        }
    }
}

// Proofs of a token that do not contain it, as our own clients send them where no TLS
// authenticates the server.

/// `GET /v1/nonce`: the nonce for a token proof. Needs no token and changes nothing.
pub(super) async fn nonce(api: Api) -> JsonReply<NonceReply> {
    match api.keys.nonces.fresh() {
        Some(nonce) => Ok(Json(NonceReply { nonce })),
        None => Err(ApiError::failed("no nonce could be made")),
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
        let (handle, hash) = known(api, shows).await?;
        // Checked after the token: a client without it cannot use up somebody else's nonce.
        if !api.keys.nonces.take(&about.nonce) {
            let used = "the token was shown with a nonce that is used, too old or not from here";
            return Err(ApiError::unauthorized(used));
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
            return ApiError::failed("the reply could not be put together").into_response();
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
