//! Tells one person something that nobody else sees.

use crate::bot::SlackBot;
use crate::rich::{RichText, escape};
use serde_json::{Value, json};
use tracing::warn;

/// Where somebody is told something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PrivatePlace {
    /// At the address that came with what they did: it works for half an hour, in any channel.
    Response(String),
    /// In a channel that they are in, or in a thread there.
    Member { channel: String, user: String, thread: Option<String> },
}

impl PrivatePlace {
    /// In a channel that this person is in.
    pub(crate) fn member(channel: &str, user: &str) -> Self {
        Self::Member { channel: channel.to_owned(), user: user.to_owned(), thread: None }
    }

    /// Tells it, where there is something to tell. What they did counts even where that
    /// fails.
    pub(crate) async fn tell(&self, bot: &SlackBot, text: RichText) {
        let plain = text.plain();
        let Some(block) = text.block() else { return };
        let fallback = escape(&plain);
        let told = match self {
            Self::Response(url) => {
                let body = json!({"response_type": "ephemeral", "replace_original": false,
                    "text": fallback, "blocks": [block]});
                bot.api.respond(url, &body).await
            }
            Self::Member { channel, user, thread } => {
                let mut body = json!({"channel": channel, "user": user, "text": fallback,
                    "blocks": [block]});
                if let (Some(thread), Some(body)) = (thread, body.as_object_mut()) {
                    body.insert("thread_ts".to_owned(), Value::String(thread.clone()));
                }
                bot.api.write("chat.postEphemeral", &body).await.map(drop)
            }
        };
        if let Err(problem) = told {
            warn!(%problem, "somebody could not be told what came of what they did");
        }
    }
}
