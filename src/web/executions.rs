//! `/v1/asks/{id}/token` and `/v1/executions`: execution bound to the answer.

use crate::{
    Api,
    asks::find,
    error::ApiError,
    handle::{AskReader, Handle},
    request::{Body, JsonReply},
};
use axum::{Json, extract::Path, http::StatusCode};
use countersign_domain::{
    log::{ExecutionToken, RefusedToken},
    wire::{ExecutionReply, ExecutionRequest, TokenReply},
};
use countersign_gate::{ExecutionNoted, execution_token};
use countersign_tokens::clock;

/// Hands out the token of an approved call.
// SECURITY: only to the handle that submitted the call; another agent could use it up.
pub(super) async fn token(
    api: Api,
    handle: Handle,
    reader: AskReader,
    Path(id): Path<String>,
) -> JsonReply<TokenReply> {
    let ask = find(&api, &id, &reader).await?;
    if !reader.is_caller_of(&ask) && handle != Handle::Approver {
        return Err(ApiError::forbidden("the token of a call is for the agent that submitted it"));
    }
    let token = execution_token(&ask, &api.log.key(), clock::now_ms()).ok_or_else(|| {
        ApiError::conflict(format!(
            "`{}` is not approved, or was for longer than 10 minutes: it has no token",
            ask.id
        ))
    })?;
    let expires = clock::rfc3339(token.expires * 1_000);
    Ok(Json(TokenReply { token: token.to_string(), expires }))
}

/// Notes that the call of a token starts, or has ended.
pub(super) async fn report(api: Api, body: Body) -> JsonReply<ExecutionReply> {
    let ExecutionRequest { token, exit } = body.json()?;
    let token: ExecutionToken = token.parse().map_err(refused)?;
    match api.gate.report(&token, &api.log.public(), exit).await? {
        ExecutionNoted::Noted(ask) => Ok(Json(ExecutionReply { ask: ask.id })),
        ExecutionNoted::Refused(why) => Err(refused(why)),
    }
}

fn refused(why: RefusedToken) -> ApiError {
    let status = match why {
        RefusedToken::Unreadable => StatusCode::BAD_REQUEST,
        RefusedToken::Signature
        | RefusedToken::OtherCall
        | RefusedToken::Undone
        | RefusedToken::Agent(_)
        | RefusedToken::Paused => StatusCode::FORBIDDEN,
        RefusedToken::Expired => StatusCode::GONE,
        RefusedToken::Used => StatusCode::CONFLICT,
    };
    ApiError::new(status, why.to_string())
}
