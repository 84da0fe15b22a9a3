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
use countersign_policy::exact_json;
use countersign_profiles::wcore::ApprovalScope;
use countersign_tokens::secret::TokenHash;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The two kinds of open requests of a session.
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
    scope: RestScope,
    prefix: Option<String>,
    answer: Option<String>,
    resume_token: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RestScope {
    #[default]
    Once,
    Always,
    AlwaysPrefix,
}

/// The route, protected by the token; `find` looks up a session.
///
/// 200 with the decision; 404 for an unknown session, an unknown call and a second answer; 401
/// without the token; 400 with a sentence for an invalid body.
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
    // Before the body is parsed, so that a stranger learns nothing about its form.
    if !bearer.is_some_and(|token| served.token.matches(token.trim())) {
        return refused(StatusCode::UNAUTHORIZED, "a token is needed: `Authorization: Bearer …`");
    }
    let answer = match exact_json::from_slice::<Resolve>(&body) {
        Ok(answer) => answer,
        Err(error) => return refused(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let scope = match answer.scope() {
        Ok(scope) => scope,
        Err(why) => return refused(StatusCode::BAD_REQUEST, why),
    };
    let unknown = || refused(StatusCode::NOT_FOUND, "nothing waits under this id");
    let Some((manager, bridge)) = (served.find)(&session) else { return unknown() };
    let approved = answer.approved;
    let found = settle(&manager, &bridge, &call_id, answer, scope);
    let decision = if approved { "approved" } else { "denied" };
    if found {
        Json(json!({ "resolved": true, "call_id": call_id, "decision": decision })).into_response()
    } else {
        unknown()
    }
}

/// Delivers the answer; with a secret, to the suspended request of that secret and no other.
fn settle(
    manager: &ToolApprovalManager,
    bridge: &ApprovalBridge,
    call_id: &str,
    answer: Resolve,
    scope: ApprovalScope,
) -> bool {
    // As on the wire, an empty token means an ordinary call.
    let Some(token) = answer.resume_token.filter(|token| !token.is_empty()) else {
        let resolved = manager.resolve_host(call_id, answer.approved, scope, answer.answer);
        return resolved != Resolution::Unknown;
    };
    let modifications = answer.answer.map(|answer| json!({ "answer": answer }));
    bridge.resume(
        &token,
        if answer.approved {
            ApprovalOutcome::Approved { modifications }
        } else {
            ApprovalOutcome::Denied { modifications }
        },
    )
}

impl Resolve {
    fn scope(&self) -> Result<ApprovalScope, &'static str> {
        match (self.scope, &self.prefix) {
            (RestScope::AlwaysPrefix, Some(prefix)) if !prefix.trim().is_empty() => {
                Ok(ApprovalScope::AlwaysPrefix { prefix: prefix.clone() })
            }
            (RestScope::AlwaysPrefix, _) => Err("`always_prefix` needs a `prefix`"),
            (_, Some(_)) => Err("`prefix` belongs to the scope `always_prefix`"),
            (RestScope::Once, None) => Ok(ApprovalScope::Once),
            (RestScope::Always, None) => Ok(ApprovalScope::Always),
        }
    }
}

fn refused(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}
