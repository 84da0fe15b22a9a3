//! The session of an MCP client over HTTP. Its id holds all that is known of it, so it outlives the
//! daemon and takes no memory.

use crate::error::ApiError;
use axum::http::{HeaderMap, HeaderName};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_gate::call::is_name;
use countersign_tokens::{digest::sha256_hex, ids};

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
