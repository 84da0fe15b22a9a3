//! `/mcp`: the MCP server over HTTP ("streamable HTTP"). A tool call that waits for a person is
//! answered by a stream of server-sent events; everything else by JSON.

mod session;
mod waiting;

pub(super) use waiting::WaitingTools;

use super::{error::ApiError, handle::Handle, state::Api, view::decided};
use axum::{
    Extension, Json,
    body::Bytes,
    extract::{State, rejection::BytesRejection},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use countersign_agents::mcp::{
    Handled, McpCaller, McpServer, PendingTool, RpcMessage, VERSIONS, read,
};
use countersign_domain::owner::Owner;
use countersign_gate::{SESSION_ENDED, SubmitOutcome};
use countersign_tokens::ids;
use session::{McpSession, SESSION};
use std::sync::Arc;
use waiting::WaitingTool;

/// The header with the version that was agreed on.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

pub(super) async fn receive(
    State(api): State<Api>,
    Extension(owner): Extension<Owner>,
    Extension(waiting): Extension<Arc<WaitingTools>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let body = body?;
    of_no_page(&headers)?;
    of_known_version(&headers)?;
    let message = match api.gate.beside(body.len(), || one(&body)).await {
        Ok(message) => message,
        Err(error) => return Ok((StatusCode::BAD_REQUEST, Json(error)).into_response()),
    };
    let begins = matches!(&message, RpcMessage::Request { method, .. } if method == "initialize");
    let session = match begins {
        true => McpSession::default(),
        false => McpSession::of(&headers)?,
    };
    let mut server = McpServer::new(McpCaller {
        agent: session.agent.clone(),
        session: session.name(),
        host: None,
        cwd: None,
        // A request that is sent again is another call: its connection was lost, so its ask is
        // cancelled.
        run: ids::nonce(),
    });
    match server.handle(message) {
        Handled::Reply(reply) if begins => {
            let session = McpSession::begin(server.agent());
            Ok(([(SESSION, session.id)], Json(reply)).into_response())
        }
        Handled::Reply(reply) => Ok(Json(reply).into_response()),
        Handled::Nothing => Ok(StatusCode::ACCEPTED.into_response()),
        Handled::Cancelled(id) => {
            if let Some(ask) = waiting.cancel((&owner, &session), &id) {
                api.gate.cancel(&ask, "the agent that asked cancelled it").await?;
            }
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Handled::Pending(mut pending) => {
            // SECURITY: what is granted to the session covers only calls that name its id.
            pending.call.owner = Some(owner.clone().with(&session.id));
            submit(&api, &waiting, (&owner, &session), *pending, &headers).await
        }
    }
}

/// Ends the session.
pub(super) async fn end(
    State(api): State<Api>,
    Extension(handle): Extension<Handle>,
    headers: HeaderMap,
) -> Result<StatusCode, ApiError> {
    of_no_page(&headers)?;
    let session = McpSession::of(&headers)?;
    let agent = handle.acts_as(&api, session.agent.clone().unwrap_or_default()).await?;
    api.gate.end_session(&agent, &session.name(), SESSION_ENDED).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Submits a tool call, and replies when it is decided.
async fn submit(
    api: &Api,
    waiting: &Arc<WaitingTools>,
    caller_of: (&Owner, &McpSession),
    pending: PendingTool,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let call = pending.call.clone();
    let (ask, caller) = match api.gate.submit(call.clone(), true).await {
        Ok(SubmitOutcome::Ruled(ruling)) => {
            let message = api.gate.text_for_denial(&call, &ruling);
            let reply = pending.reply_to(decided(&ruling, message));
            return Ok(Json(reply).into_response());
        }
        Ok(SubmitOutcome::Asked(ask, caller)) => (ask, caller),
        Err(error) => return Ok(Json(pending.reply(Err(&error.to_string()))).into_response()),
    };
    let caller = caller.unwrap_or_else(|| api.gate.attach(&ask.id));
    let entry = waiting.enter(caller_of, &pending.id, &ask.id);
    let tool = WaitingTool::new(api.gate.clone(), ask.id.clone(), pending, caller, entry);
    let streams = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    match streams.is_some_and(|accept| accept.contains("text/event-stream")) {
        true => Ok(tool.stream().into_response()),
        false => Ok(Json(tool.reply().await).into_response()),
    }
}

/// The only message of a body.
fn one(body: &[u8]) -> Result<RpcMessage, serde_json::Value> {
    let mut messages = read(body);
    match (messages.pop(), messages.is_empty()) {
        (Some(message), true) => message,
        _ => Err(countersign_agents::mcp::error_reply(
            &serde_json::Value::Null,
            -32600,
            "a request holds one message; send those of a batch one by one",
        )),
    }
}

// SECURITY: programs send no `Origin`. A page that an attacker points at this address does.
fn of_no_page(headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.contains_key(header::ORIGIN) {
        true => Err(ApiError::forbidden("MCP is served to programs here, and not to web pages")),
        false => Ok(()),
    }
}

fn of_known_version(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(version) = headers.get(VERSION) else { return Ok(()) };
    match version.to_str().is_ok_and(|version| VERSIONS.contains(&version)) {
        true => Ok(()),
        false => Err(ApiError::bad_request(format!(
            "`mcp-protocol-version` names none of {}",
            VERSIONS.join(", ")
        ))),
    }
}
