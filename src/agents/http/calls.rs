//! `POST /v1/calls`: a call is handed in.

use super::{
    Api, Fault,
    asks::Wait,
    fault::json,
    view::{ruled, with_message},
};
use crate::gate::{Handed, ask::Ask, call::Call};
use axum::{
    Json,
    body::Bytes,
    extract::{
        Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};

pub(super) async fn hand_in(
    State(api): State<Api>,
    wait: Result<Query<Wait>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Fault> {
    let Query(wait) = wait?;
    let call: Call = json(&body?)?;
    let longest = wait.longest();
    let (ask, caller) = match api.gate.hand_in(call.clone(), !longest.is_zero()).await? {
        Handed::Ruled(ruling) => {
            let mut answer = serde_json::json!({
                "verdict": ruling.verdict,
                "reason": ruling.reason,
            });
            if let (Some(rule), Some(answer)) = (&ruling.rule, answer.as_object_mut()) {
                answer.insert("rule".to_owned(), rule.as_str().into());
            }
            let message = api.gate.told_of_ruling(&call, &ruling);
            return Ok(Json(with_message(answer, message)).into_response());
        }
        Handed::Asked(ask, caller) => (ask, caller),
    };
    let Some(mut caller) = caller else { return Ok(told(&api, &ask)) };
    let waited = caller.wait(longest).await;
    // An error is a response too: the caller comes back for more.
    caller.leave();
    Ok(told(&api, &waited?.unwrap_or(*ask)))
}

fn told(api: &Api, ask: &Ask) -> Response {
    let status = if ask.is_open() { StatusCode::ACCEPTED } else { StatusCode::OK };
    (status, Json(ruled(&api.gate, ask))).into_response()
}
