//! `/mcp`: the MCP server over HTTP ("streamable HTTP"). A tool call that waits for a person is
//! answered by a stream of server-sent events; everything else by JSON.

use crate::{
    Api,
    asks::{asked, decided},
    error::ApiError,
    handle::Handle,
    request::{Body, Reply},
};
use axum::{
    Extension, Json,
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{
        IntoResponse,
        sse::{Event, KeepAlive, Sse},
    },
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_agents::{
    CallOrigin,
    mcp::{Handled, McpServer, PendingTool, RpcMessage, VERSIONS, read},
};
use countersign_domain::Owner;
use countersign_gate::{AttachedCaller, Gate, SESSION_ENDED, SubmitOutcome, call::is_name};
use countersign_tokens::{ids, sha256_hex};
use dashmap::DashMap;
use futures::{Stream, stream};
use serde_json::Value;
use std::{convert::Infallible, sync::Arc, time::Duration};

/// The header with the version that was agreed on.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

pub(super) async fn receive(
    api: Api,
    Extension(owner): Extension<Owner>,
    Extension(waiting): Extension<Arc<WaitingTools>>,
    headers: HeaderMap,
    body: Body,
) -> Reply {
    let body = body.bytes()?;
    of_no_page(&headers)?;
    of_known_version(&headers)?;
    let message = match api.gate.beside(body.len(), || one(&body)).await {
        Ok(message) => message,
        Err(error) => return Ok((StatusCode::BAD_REQUEST, Json(error)).into_response()),
    };
    let begins = matches!(&message, RpcMessage::Request { method, .. } if method == "initialize");
    let session = if begins { McpSession::default() } else { McpSession::of(&headers)? };
    // A request that is sent again is another call: its connection was lost, so its ask is
    // cancelled.
    let run = ids::nonce();
    let origin = CallOrigin { session: session.name(), host: None, cwd: None, run };
    let mut server = McpServer::new(session.agent.clone(), origin);
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
    api: Api,
    handle: Handle,
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
) -> Reply {
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
    let tool =
        WaitingTool { gate: api.gate.clone(), ask: ask.id.clone(), pending, caller, _entry: entry };
    let streams = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if streams.is_some_and(|accept| accept.contains("text/event-stream")) {
        Ok(tool.stream().into_response())
    } else {
        Ok(Json(tool.reply().await).into_response())
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
    if headers.contains_key(header::ORIGIN) {
        Err(ApiError::forbidden("MCP is served to programs here, and not to web pages"))
    } else {
        Ok(())
    }
}

fn of_known_version(headers: &HeaderMap) -> Result<(), ApiError> {
    let Some(version) = headers.get(VERSION) else { return Ok(()) };
    if version.to_str().is_ok_and(|version| VERSIONS.contains(&version)) {
        Ok(())
    } else {
        Err(ApiError::bad_request(format!(
            "`mcp-protocol-version` names none of {}",
            VERSIONS.join(", ")
        )))
    }
}

// The session of an MCP client over HTTP. Its id holds all that is known of it, so it outlives the
// daemon and takes no memory.

/// The header that names the session, of a reply to `initialize` and of every later request.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// A session, by the id that the client sends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct McpSession {
    /// `SECRET.NAME`, the name in base64. Who knows it speaks for the session.
    pub(super) id: String,
    /// The client's name.
    pub(super) agent: Option<String>,
}

impl McpSession {
    /// A new session of this agent.
    pub(super) fn begin(agent: &str) -> Self {
        let id = format!("{}.{}", ids::token(), URL_SAFE_NO_PAD.encode(agent));
        Self { id, agent: Some(agent.to_owned()) }
    }

    /// The session that a request names.
    ///
    /// # Errors
    /// 400 without one; 404 with one that is not ours, so that the client begins another.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let Some(id) = headers.get(SESSION) else {
            return Err(ApiError::bad_request(
                "`mcp-session-id` is missing; the reply to `initialize` gives it",
            ));
        };
        let read = id.to_str().ok().and_then(Self::read);
        read.ok_or_else(|| {
            ApiError::not_found("there is no such MCP session; begin one with `initialize`")
        })
    }

    /// The name on cards: the id is a secret.
    pub(super) fn name(&self) -> String {
        format!("mcp {}", sha256_hex(self.id.as_bytes()).chars().take(12).collect::<String>())
    }

    fn read(id: &str) -> Option<Self> {
        let (secret, name) = id.split_once('.')?;
        let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
        let valid = (16..=100).contains(&secret.len()) && is_name("agent", &name, 100).is_ok();
        valid.then(|| Self { id: id.to_owned(), agent: Some(name) })
    }
}

// Tool calls over HTTP that wait for a person.

/// The time between two notifications that a call still waits.
const PROGRESS: Duration = Duration::from_secs(10);

/// A request of a session, with the caller's owner.
type WaitingKey = (Owner, String, String);

/// The calls that wait, with their asks: another request cancels them.
// SECURITY: the owner is part of the key, so an id that was stolen is of no use to other agents.
#[derive(Debug, Default)]
pub(crate) struct WaitingTools(DashMap<WaitingKey, String>);

/// A call's place among those that wait, given back when dropped.
#[derive(Debug)]
pub(super) struct WaitingEntry {
    tools: Arc<WaitingTools>,
    key: WaitingKey,
    ask: String,
}

impl WaitingTools {
    /// Remembers a call until the result is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        (owner, session): (&Owner, &McpSession),
        request: &Value,
        ask: &str,
    ) -> WaitingEntry {
        let key = (owner.clone(), session.id.clone(), request.to_string());
        self.0.insert(key.clone(), ask.to_owned());
        WaitingEntry { tools: self.clone(), key, ask: ask.to_owned() }
    }

    /// The ask of the request that a client cancels.
    pub(super) fn cancel(
        &self,
        (owner, session): (&Owner, &McpSession),
        request: &Value,
    ) -> Option<String> {
        let key = (owner.clone(), session.id.clone(), request.to_string());
        self.0.remove(&key).map(|(_, ask)| ask)
    }
}

impl Drop for WaitingEntry {
    fn drop(&mut self) {
        // A client that repeats an id has replaced the entry.
        self.tools.0.remove_if(&self.key, |_, ask| *ask == self.ask);
    }
}

/// A tool call that waits. When it is dropped, as when the client disconnects, its ask is
/// cancelled.
pub(super) struct WaitingTool {
    gate: Arc<Gate>,
    ask: String,
    pending: PendingTool,
    caller: AttachedCaller,
    _entry: WaitingEntry,
}

/// The progress of a wait.
enum WaitStep {
    /// Send this and go on.
    Waits(Option<Value>),
    /// Send this and end.
    Ends(Value),
}

impl WaitingTool {
    /// Waits for the reply.
    pub(super) async fn reply(mut self) -> Value {
        loop {
            if let WaitStep::Ends(reply) = self.step(PROGRESS).await {
                self.caller.leave();
                return reply;
            }
        }
    }

    /// Streams progress, and the reply at the end.
    pub(super) fn stream(mut self) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        let asked = format!("A person is asked; the ask is {}.", self.ask);
        let first = self.pending.progress(&asked);
        let rest = stream::unfold(Some(self), |tool| async move {
            let mut tool = tool?;
            loop {
                match tool.step(PROGRESS).await {
                    WaitStep::Waits(Some(message)) => return Some((event(&message), Some(tool))),
                    WaitStep::Waits(None) => {}
                    WaitStep::Ends(reply) => {
                        tool.caller.leave();
                        return Some((event(&reply), None));
                    }
                }
            }
        });
        let first = stream::iter(first.map(|message| event(&message)));
        Sse::new(futures::StreamExt::chain(first, rest)).keep_alive(KeepAlive::default())
    }

    async fn step(&mut self, longest: Duration) -> WaitStep {
        let ask = match self.caller.wait(longest).await {
            Ok(ask) => ask,
            Err(error) => return WaitStep::Ends(self.pending.reply(Err(&error.to_string()))),
        };
        match ask {
            None => WaitStep::Ends(self.pending.reply(Err("its ask is no longer stored"))),
            Some(ask) if !ask.is_open() => {
                WaitStep::Ends(self.pending.reply_to(asked(&self.gate, &ask)))
            }
            Some(_) if self.gate.is_stopping() => {
                WaitStep::Ends(self.pending.reply(Err("the daemon stops; call the tool again")))
            }
            Some(_) => WaitStep::Waits(self.pending.progress("Still waiting for a decision.")),
        }
    }
}

fn event(message: &Value) -> Result<Event, Infallible> {
    Ok(Event::default().event("message").data(message.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    fn of(id: &str) -> Result<McpSession, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(SESSION, id.parse().unwrap());
        McpSession::of(&headers)
    }

    #[test]
    fn a_session_is_read_back_from_its_id_and_its_name_does_not_tell_the_id() {
        let session = McpSession::begin("claude-code");
        assert_eq!(of(&session.id).unwrap(), session);
        assert_eq!(session.agent.as_deref(), Some("claude-code"));
        let name = session.name();
        assert!(!name.contains(&session.id) && name.len() == 16, "{name}");
        assert_ne!(name, McpSession::begin("claude-code").name());
    }

    #[test]
    fn an_id_that_is_not_ours_names_no_session() {
        assert!(McpSession::of(&HeaderMap::new()).is_err());
        let long = "x".repeat(101);
        let hidden = URL_SAFE_NO_PAD.encode("a\u{202e}b");
        for id in [
            "s1".to_owned(),
            "short.YQ".to_owned(),
            format!("{long}.YQ"),
            "0123456789abcdef.".to_owned(),
            "0123456789abcdef.!!".to_owned(),
            format!("0123456789abcdef.{hidden}"),
        ] {
            assert!(of(&id).is_err(), "{id}");
        }
    }
}
