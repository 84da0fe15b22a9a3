//! `/v1/passkeys`: lists and removes the passkeys of people.

use super::{error::ApiError, handle::Handle, state::Api};
use axum::{
    Extension, Json,
    extract::{Path, State},
};
use countersign_domain::wire::{PasskeyView, PasskeysPage, RemovedPasskeyReply};
use countersign_gate::PasskeyRemoval;
use countersign_port::line;
use countersign_store::StoredPasskey;
use countersign_tokens::clock;

// SECURITY: for approvers: an agent does not learn who signs in with what, and when.
pub(super) async fn list(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
) -> Result<Json<PasskeysPage>, ApiError> {
    let _ = handle.answerer()?;
    let all = api.gate.passkeys().await?;
    let all = all.into_iter().map(|(passkey, presser)| view(passkey, presser.is_some()));
    Ok(Json(PasskeysPage { passkeys: all.collect() }))
}

pub(super) async fn remove(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    Path(id): Path<String>,
) -> Result<Json<RemovedPasskeyReply>, ApiError> {
    let who = handle.answerer()?;
    match api.gate.remove_passkey(&id, who).await? {
        PasskeyRemoval::Done(passkey) => {
            Ok(Json(RemovedPasskeyReply { removed: view(*passkey, false) }))
        }
        PasskeyRemoval::Unknown => {
            Err(ApiError::not_found(format!("there is no passkey `{}`", line(&id))))
        }
        PasskeyRemoval::NotAllowed(stranger) => Err(ApiError::forbidden(stranger.0)),
    }
}

fn view(passkey: StoredPasskey, accepted: bool) -> PasskeyView {
    PasskeyView {
        id: passkey.id,
        person: passkey.owner,
        name: passkey.name,
        identity: passkey.person,
        host: passkey.host,
        accepted,
        created_at: clock::rfc3339(passkey.created_at),
        last_used_at: passkey.used_at.map(clock::rfc3339),
    }
}
