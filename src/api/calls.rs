//! `POST /v1/calls`: an agent submits a call.

use super::{
    fault::{Fault, json},
    state::Api,
    view::{ruled, with_message},
    wait::Wait,
};
use crate::{
    ask::owner::Owner,
    gate::{Handed, ask::Ask, call::Call},
};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{
        Query, State,
        rejection::{BytesRejection, QueryRejection},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Deserialize;

pub(super) async fn submit(
    State(api): State<Api>,
    Extension(owner): Extension<Owner>,
    wait: Result<Query<Wait>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Fault> {
    let (Query(wait), body) = (wait?, body?);
    let read = || Ok::<_, Fault>((json::<Call>(&body)?, Secret::of(&body)?));
    let (mut call, secret) = api.gate.beside(body.len(), read).await?;
    call.owner = Some(secret.map_or(owner.clone(), |secret| owner.with(&secret)));
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
    let id = std::mem::take(&mut { ask }.id);
    let waited = caller.wait(longest).await;
    // An error is a response too: the caller comes back for more.
    caller.leave();
    let ask = waited?.ok_or_else(|| Fault::not_found(format!("there is no ask `{id}`")))?;
    Ok(told(&api, &ask))
}

/// The secret of a call's session, which binds what is granted there to whoever has it.
#[derive(Deserialize)]
struct Secret {
    session_secret: Option<String>,
}

impl Secret {
    fn of(body: &[u8]) -> Result<Option<String>, Fault> {
        let Self { session_secret } = json(body)?;
        let count = session_secret.as_ref().map_or(16, |secret| secret.chars().count());
        match (16..=200).contains(&count) {
            true => Ok(session_secret),
            false => Err(Fault::bad_request(format!(
                "`session_secret` has {count} characters; it is a random text of 16 to 200, the same for \
                 every call of a session"
            ))),
        }
    }
}

fn told(api: &Api, ask: &Ask) -> Response {
    let status = if ask.is_open() { StatusCode::ACCEPTED } else { StatusCode::OK };
    (status, Json(ruled(&api.gate, ask))).into_response()
}
