//! A command that the page gives, such as the button that pauses everything.

use crate::{guard::refusal, press::word, shared::InboxState};
use axum::{
    Extension, Json,
    extract::{State, rejection::JsonRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use countersign_port::{CommandCall, Presser, ReplyPiece};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// What the page sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandBody {
    name: String,
}

/// Hands a command to the core and tells what came of it.
pub(crate) async fn command(
    State(inbox): State<Arc<InboxState>>,
    Extension(presser): Extension<Presser>,
    given: Result<Json<CommandBody>, JsonRejection>,
) -> Response {
    let Ok(Json(CommandBody { name })) = given else {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "This is not a command.");
    };
    let Some(core) = inbox.connected() else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "countersign is not taking commands just now; nothing was changed.",
        );
    };
    if core.commands().iter().all(|known| known.name != name) {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, "There is no such command.");
    }
    let (targets, message, rest) = (Vec::new(), None, String::new());
    let call = CommandCall { presser, targets, message, name, rest };
    // A task of its own, so that a page that goes away cannot stop it half way.
    match tokio::spawn(async move { core.command(call).await }).await {
        Ok(reply) => {
            let text = |piece: &ReplyPiece| match piece {
                ReplyPiece::Words(text) | ReplyPiece::Literal(text) => text.clone(),
            };
            let lines = reply.lines.iter().map(|line| line.iter().map(text).collect::<String>());
            let sentence = lines.collect::<Vec<_>>().join("\n");
            Json(json!({ "outcome": word(reply.outcome), "sentence": sentence })).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "the core did not finish a command of the inbox");
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "countersign failed on this command.")
        }
    }
}
