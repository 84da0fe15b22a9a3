//! The agent whose token a request brings.

use super::{
    error::ApiError,
    handle::{Handle, Keys, NamedAgent},
    state::Api,
};
use axum::http::StatusCode;
use countersign_gate::name_taken;
use countersign_store::{AgentToken, Store};
use countersign_tokens::{clock, secret::TokenHash};

/// How long the note of a token's last use is good enough.
const USED_WITHIN_MS: i64 = 60_000;

/// The handle of the token that `shows` accepts, and the token's hash.
// SECURITY: agents' own tokens are read from the store for each request: one that was revoked or
// rotated at another daemon is refused here from then on.
pub(super) async fn known(
    keys: &Keys,
    store: &Store,
    shows: impl Fn(&TokenHash) -> bool + Send + Sync,
) -> Result<(Handle, TokenHash), ApiError> {
    if let Some((handle, hash)) = keys.of(&shows) {
        return Ok((handle, hash.clone()));
    }
    let (now, tokens) = (clock::now_ms(), store.agent_tokens().await?);
    // All are always compared, so that the time does not show which one matched.
    let shown = |token: &AgentToken| Some((token.clone(), token.shown(now, &shows)?.clone()));
    let fits: Vec<_> = tokens.iter().filter_map(shown).collect();
    let unauthorized = |why: String| ApiError::new(StatusCode::UNAUTHORIZED, why);
    let Some((token, hash)) = fits.into_iter().next() else {
        return Err(unauthorized(
            "the daemon does not know this token: compare [client] token with the daemon's config"
                .to_owned(),
        ));
    };
    if let Err(why) = token.is_accepted(now) {
        let name = token.name;
        return Err(unauthorized(format!("the agent `{name}` is refused: {why}")));
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
