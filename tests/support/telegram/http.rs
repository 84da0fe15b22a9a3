//! The bot's side: HTTP, faults and long polling.

use super::world::{Refusal, refuse};
use super::{Fault, Shared, TOKEN};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Handles one call of the bot.
pub(super) async fn serve(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().strip_prefix("/bot").unwrap_or_default();
    let (token, method) = path.split_once('/').unwrap_or_default();
    let method = method.to_lowercase();
    let (parameters, file) = read(&headers, &body);
    let fault = shared.change(|world| {
        world.calls.push((method.clone(), Value::Object(parameters.clone())));
        if world.down {
            return Some(Fault::DropBefore);
        }
        world.too_soon(&method, &parameters).or_else(|| world.next_fault(&method, &parameters))
    });
    match &fault {
        Some(Fault::RetryAfter(seconds)) => {
            let description = format!("Too Many Requests: retry after {seconds}");
            let parameters = json!({ "retry_after": seconds });
            return answer(Err(Refusal { code: 429, description, parameters }));
        }
        Some(Fault::BadGateway) => {
            let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>\r\n";
            return (StatusCode::BAD_GATEWAY, page).into_response();
        }
        Some(Fault::Refuse(code, description)) => return answer(refuse(*code, description)),
        Some(Fault::DropBefore) => return dropped(),
        Some(Fault::DropAfter | Fault::Garbled) | None => {}
    }
    if token != TOKEN || shared.world.lock().unwrap().token_refused {
        return answer(refuse(401, "Unauthorized"));
    }
    let done = match method.as_str() {
        "getupdates" => get_updates(&shared, &parameters).await,
        _ => shared.change(|world| world.call(&method, &parameters, file)),
    };
    match fault {
        Some(Fault::DropAfter) => dropped(),
        Some(Fault::Garbled) => "{\"ok\":tru".into_response(),
        _ => answer(done),
    }
}

pub(super) fn answer(done: Result<Value, Refusal>) -> Response {
    match done {
        Ok(result) => axum::Json(json!({"ok": true, "result": result})).into_response(),
        Err(Refusal { code, description, parameters }) => {
            let mut said = json!({"ok": false, "error_code": code, "description": description});
            if !parameters.is_null() {
                said["parameters"] = parameters;
            }
            (StatusCode::from_u16(code).unwrap(), axum::Json(said)).into_response()
        }
    }
}

/// A response whose body breaks off at once.
pub(super) fn dropped() -> Response {
    let broken = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("the line broke"))]);
    Body::from_stream(broken).into_response()
}

/// Parses the parameters and the file of a JSON or multipart body.
pub(super) fn read(
    headers: &HeaderMap,
    body: &[u8],
) -> (Map<String, Value>, Option<(String, String)>) {
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let Some((_, boundary)) = kind.split_once("boundary=") else {
        return (serde_json::from_slice(body).unwrap_or_default(), None);
    };
    let (mut parameters, mut file) = (Map::new(), None);
    let body = String::from_utf8_lossy(body);
    // Simplified multipart: the adapter's bodies do not contain the boundary.
    for part in body.split(&format!("--{boundary}")) {
        let Some((head, content)) = part.split_once("\r\n\r\n") else { continue };
        let content = content.strip_suffix("\r\n").unwrap_or(content).to_owned();
        let quoted = |key: &str| Some(head.split_once(key)?.1.split_once('"')?.0.to_owned());
        match (quoted(" name=\""), quoted("filename=\"")) {
            (Some(_), Some(name)) => file = Some((name, content)),
            (Some(name), None) => {
                let value = serde_json::from_str(&content).unwrap_or(Value::String(content));
                parameters.insert(name, value);
            }
            _ => {}
        }
    }
    (parameters, file)
}

/// Long polling: waits until there is an update; a newer call ends it.
pub(super) async fn get_updates(
    shared: &Shared,
    parameters: &Map<String, Value>,
) -> Result<Value, Refusal> {
    let number = |key: &str| parameters.get(key).and_then(Value::as_i64);
    let (offset, limit) = (number("offset"), number("limit").unwrap_or(100));
    let until =
        Instant::now() + Duration::from_secs(number("timeout").unwrap_or(0).clamp(0, 50) as u64);
    let mut changes = shared.changed.subscribe();
    let mine = shared.change(|world| {
        world.polls += 1;
        if let Some(kinds) = parameters.get("allowed_updates").and_then(Value::as_array) {
            world.allowed = kinds.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect();
        }
        // The offset confirms all updates before it.
        world.updates.retain(|(id, _)| offset.is_none_or(|offset| *id >= offset));
        world.polls
    });
    loop {
        {
            let world = shared.world.lock().unwrap();
            if world.webhook {
                return refuse(
                    409,
                    "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to \
                     delete the webhook first",
                );
            }
            if world.polls != mine {
                return refuse(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot \
                     instance is running",
                );
            }
            let waiting: Vec<Value> = world
                .updates
                .iter()
                .take(limit as usize)
                .map(|(_, update)| update.clone())
                .collect();
            if !waiting.is_empty() {
                return Ok(Value::Array(waiting));
            }
        }
        if timeout_at(until, changes.changed()).await.is_err() {
            return Ok(json!([]));
        }
    }
}
