//! `/v1/sessions/ID/…`: a session is aborted or over.

use super::{Api, Fault, fault::json};
use axum::{
    Json,
    body::Bytes,
    extract::{Path, State, rejection::BytesRejection},
    http::StatusCode,
};
use serde::Deserialize;
use serde_json::{Value, json as value};

#[derive(Debug, Deserialize)]
struct Which {
    agent: String,
}

pub(super) async fn act(
    State(api): State<Api>,
    Path((session, act)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Fault> {
    let why = match act.as_str() {
        "abort" => "its session was aborted",
        "end" => "its session ended",
        "mode" => {
            return Err(Fault::new(
                StatusCode::NOT_IMPLEMENTED,
                "a session's mode cannot be changed; it is set in the config",
            ));
        }
        _ => return Err(Fault::not_found("a session can be sent `abort` and `end`")),
    };
    let Which { agent } = json(&body?)?;
    let cancelled = api.gate.end_session(&agent, &session, why).await?;
    Ok(Json(value!({"cancelled": cancelled})))
}
