//! `POST /v1/sessions/{id}/approvals/{call_id}/resolve`, for hosts that answer over HTTP.

use super::{ApprovalBridge, ApprovalOutcome, Resolution, ToolApprovalManager};
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use countersign_profiles::wcore::ApprovalScope;
use countersign_tokens::secret::TokenHash;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// A session's two ways of waiting.
pub type SessionHandles = (Arc<ToolApprovalManager>, Arc<ApprovalBridge>);

type Find = dyn Fn(&str) -> Option<SessionHandles> + Send + Sync;

#[derive(Clone)]
struct Served {
    token: TokenHash,
    find: Arc<Find>,
}

/// The body of an answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolve {
    approved: bool,
    #[serde(default)]
    scope: Scope,
    prefix: Option<String>,
    answer: Option<String>,
    resume_token: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scope {
    #[default]
    Once,
    Always,
    AlwaysPrefix,
}

/// The route, for whoever shows the token; `find` knows the sessions.
///
/// 200 with the decision; 404 for an unknown session, an unknown call and a second answer; 401
/// without the token; 400 with a sentence for a body that cannot be taken.
pub fn router(
    token: TokenHash,
    find: impl Fn(&str) -> Option<SessionHandles> + Send + Sync + 'static,
) -> Router {
    Router::new()
        .route("/v1/sessions/{id}/approvals/{call_id}/resolve", post(resolve))
        .with_state(Served { token, find: Arc::new(find) })
}

async fn resolve(
    State(served): State<Served>,
    Path((session, call_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|given| given.to_str().ok());
    let bearer = bearer.and_then(|given| given.strip_prefix("Bearer "));
    if !bearer.is_some_and(|token| served.token.matches(token.trim())) {
        return refused(StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer …`");
    }
    let answer = match serde_json::from_slice::<Resolve>(&body) {
        Ok(answer) => answer,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let scope = match answer.scope() {
        Ok(scope) => scope,
        Err(why) => return refused(StatusCode::BAD_REQUEST, why),
    };
    let unknown = || refused(StatusCode::NOT_FOUND, "nothing waits under this id");
    let Some((manager, bridge)) = (served.find)(&session) else { return unknown() };
    let (approved, found) = (answer.approved, settle(&manager, &bridge, &call_id, answer, scope));
    let decision = if approved { "approved" } else { "denied" };
    match found {
        true => Json(json!({ "resolved": true, "call_id": call_id, "decision": decision }))
            .into_response(),
        false => unknown(),
    }
}

/// With a secret it is the suspended request behind it, and nothing else.
fn settle(
    manager: &ToolApprovalManager,
    bridge: &ApprovalBridge,
    call_id: &str,
    answer: Resolve,
    scope: ApprovalScope,
) -> bool {
    let Some(token) = answer.resume_token.filter(|token| !token.is_empty()) else {
        let resolved = manager.resolve_host(call_id, answer.approved, scope, answer.answer);
        return resolved != Resolution::Unknown;
    };
    let modifications = answer.answer.map(|answer| json!({ "answer": answer }));
    bridge.resume(
        &token,
        match answer.approved {
            true => ApprovalOutcome::Approved { modifications },
            false => ApprovalOutcome::Denied { modifications },
        },
    )
}

impl Resolve {
    fn scope(&self) -> Result<ApprovalScope, &'static str> {
        match (self.scope, &self.prefix) {
            (Scope::AlwaysPrefix, Some(prefix)) if !prefix.trim().is_empty() => {
                Ok(ApprovalScope::AlwaysPrefix { prefix: prefix.clone() })
            }
            (Scope::AlwaysPrefix, _) => Err("`always_prefix` needs a `prefix`"),
            (_, Some(_)) => Err("`prefix` belongs to the scope `always_prefix`"),
            (Scope::Once, None) => Ok(ApprovalScope::Once),
            (Scope::Always, None) => Ok(ApprovalScope::Always),
        }
    }
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}
