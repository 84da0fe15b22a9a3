//! What Slack's refusals mean for the core.

use countersign_port::{CheckError, RetryScope, SendError};
use serde_json::Value;
use std::time::Duration;

/// How long to keep away where Slack does not say for how long.
const UNTOLD: Duration = Duration::from_secs(30);

/// Words for a thread that is gone.
const NO_THREAD: [&str; 3] = ["thread_not_found", "invalid_thread_ts", "cannot_reply_to_message"];

/// Which of the two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// `xoxb-…`
    Bot,
    /// `xapp-…`
    App,
}

/// Why a call of Slack's API came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiProblem {
    /// A token is not, or no longer, accepted.
    #[error("Slack refuses the {} token ({error}); put a fresh one under `[slack] {}`",
        .kind.name(), .kind.key())]
    Token {
        /// Which.
        kind: TokenKind,
        /// Slack's word for it.
        error: String,
    },
    /// The app lacks a scope.
    #[error(
        "Slack misses the scope `{0}`: add it under OAuth & Permissions of the app on \
             https://api.slack.com/apps, and install the app again"
    )]
    Scope(String),
    /// 429, or our own knowledge that it would be.
    #[error("Slack asks to wait {} s", .0.as_secs_f32())]
    Wait(Duration),
    /// A refusal in Slack's own word.
    #[error("Slack refuses it: {error}{detail}")]
    Refused {
        /// Slack's word.
        error: String,
        /// What it says of the reason; empty where it says nothing.
        detail: String,
    },
    /// No answer, or none that can be read. It may have happened.
    #[error("Slack cannot be reached: {0}")]
    Unreachable(String),
    /// This daemon does not lead.
    #[error("another daemon may lead by now, so nothing was sent")]
    Deposed,
}

impl TokenKind {
    fn name(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::App => "app",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Bot => "token",
            Self::App => "app_token",
        }
    }
}

impl ApiProblem {
    /// Reads an answer that is no success. Errors come with status 200; `retry_after` is the
    /// header of that name, in seconds.
    pub(crate) fn read(
        kind: TokenKind,
        status: u16,
        retry_after: Option<u64>,
        answer: &Value,
    ) -> Self {
        let error = answer.get("error").and_then(Value::as_str).unwrap_or_default();
        if status == 429 || matches!(error, "ratelimited" | "rate_limited") {
            return Self::Wait(retry_after.map_or(UNTOLD, Duration::from_secs));
        }
        match error {
            "invalid_auth"
            | "not_authed"
            | "token_revoked"
            | "token_expired"
            | "account_inactive"
            | "org_login_required"
            | "not_allowed_token_type"
            | "team_access_not_granted"
            | "user_removed_from_team"
            | "team_disabled" => Self::Token { kind, error: error.to_owned() },
            "missing_scope" => {
                let needed = answer.get("needed").and_then(Value::as_str);
                Self::Scope(needed.unwrap_or("of that method").to_owned())
            }
            "" => Self::Unreachable(format!("it answered HTTP {status}")),
            "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
                Self::Unreachable(format!("it answered {error}"))
            }
            _ => Self::Refused { error: error.to_owned(), detail: detail(answer) },
        }
    }

    /// Slack's word of a refusal; empty where it is not one.
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Refused { error, .. } => error,
            _ => "",
        }
    }

    /// What the core does about it.
    pub(crate) fn send_error(self, channel: &str) -> SendError {
        let says = self.to_string();
        match &self {
            Self::Token { .. } | Self::Scope(_) => SendError::Fatal(says),
            // Slack's limits are those of a method, some of them in one channel. Which of our calls
            // have to wait is known here, so the others may go on.
            Self::Wait(after) => SendError::Retry { after: *after, scope: RetryScope::Target },
            Self::Unreachable(_) | Self::Deposed => SendError::Transient(says),
            Self::Refused { error, .. } if NO_THREAD.contains(&error.as_str()) => {
                SendError::ThreadGone(format!("Slack channel {channel}: {says}"))
            }
            Self::Refused { error, .. } => match gone(error) {
                Some(fix) => SendError::TargetGone(format!("Slack channel {channel}: {fix}")),
                None => SendError::Refused(says),
            },
        }
    }

    /// What `doctor` says of it.
    // A failure to reach Slack says nothing of a token, and must never look as if it did.
    pub(crate) fn check_error(self) -> CheckError {
        let says = self.to_string();
        match self {
            Self::Token { .. } => CheckError::WrongToken(says),
            Self::Wait(_) => CheckError::RateLimited(format!("{says}; try again then")),
            Self::Unreachable(_) => CheckError::Unreachable(says),
            Self::Scope(_) | Self::Refused { .. } | Self::Deposed => CheckError::Other(says),
        }
    }
}

/// How to fix a channel that cannot be reached, where it is the channel's fault.
pub(crate) fn gone(error: &str) -> Option<&'static str> {
    Some(match error {
        "channel_not_found" | "method_not_supported_for_channel_type" => {
            "the bot sees no such channel; write `/invite` and the bot's name there, or correct \
             `[slack] targets`"
        }
        "not_in_channel" => "the bot is not in it; write `/invite` and the bot's name there",
        "is_archived" | "is_inactive" => {
            "it is archived; unarchive it, or correct `[slack] targets`"
        }
        "messages_tab_disabled" => {
            "the app does not accept direct messages; switch on Messages Tab under App Home of the app on \
             https://api.slack.com/apps"
        }
        "ekm_access_denied" => "the workspace's administrators have locked it",
        _ if error.starts_with("restricted_action") => {
            "the workspace does not let the bot write there; ask its administrators, or correct \
             `[slack] targets`"
        }
        _ => return None,
    })
}

/// Which part of a message Slack refuses.
fn detail(answer: &Value) -> String {
    let messages = answer.pointer("/response_metadata/messages").and_then(Value::as_array);
    let first = messages.and_then(|messages| messages.iter().find_map(Value::as_str));
    first.map(|first| format!(": {first}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(status: u16, answer: &Value) -> ApiProblem {
        ApiProblem::read(TokenKind::Bot, status, Some(7), answer)
    }

    #[test]
    fn a_dead_token_is_fatal_and_names_its_key() {
        for error in ["invalid_auth", "token_revoked", "account_inactive"] {
            let problem = read(200, &json!({"ok": false, "error": error}));
            let says = format!(
                "Slack refuses the bot token ({error}); put a fresh one under `[slack] token`"
            );
            assert_eq!(problem.send_error("C1"), SendError::Fatal(says));
        }
        let app = ApiProblem::read(TokenKind::App, 200, None, &json!({"error": "invalid_auth"}));
        assert!(app.to_string().ends_with("under `[slack] app_token`"), "{app}");
    }

    #[test]
    fn a_missing_scope_is_named() {
        let answer = json!({"ok": false, "error": "missing_scope", "needed": "chat:write"});
        let SendError::Fatal(says) = read(200, &answer).send_error("C1") else { return };
        assert!(says.starts_with("Slack misses the scope `chat:write`"), "{says}");
    }

    #[test]
    fn a_limit_is_waited_for_as_long_as_slack_says() {
        let wait = |seconds| SendError::Retry {
            after: Duration::from_secs(seconds),
            scope: RetryScope::Target,
        };
        let limited = json!({"ok": false, "error": "ratelimited"});
        assert_eq!(read(429, &limited).send_error("C1"), wait(7));
        assert_eq!(read(429, &Value::Null).send_error("C1"), wait(7));
        let untold = ApiProblem::read(TokenKind::Bot, 429, None, &limited);
        assert_eq!(untold.send_error("C1"), wait(30));
    }

    #[test]
    fn a_channel_that_cannot_be_reached_is_gone_with_its_fix() {
        for (error, fix) in [
            ("channel_not_found", "/invite"),
            ("not_in_channel", "/invite"),
            ("is_archived", "unarchive it"),
            ("restricted_action_read_only_channel", "does not let the bot write"),
            ("messages_tab_disabled", "Messages Tab"),
        ] {
            let problem = read(200, &json!({"ok": false, "error": error}));
            let says = match problem.send_error("C1") {
                SendError::TargetGone(says) => says,
                other => other.to_string(),
            };
            assert!(says.starts_with("Slack channel C1: ") && says.contains(fix), "{says}");
        }
    }

    #[test]
    fn a_refused_message_says_which_part_and_trouble_on_their_side_passes() {
        let answer = json!({"ok": false, "error": "invalid_blocks", "response_metadata":
            {"messages": ["[ERROR] must be less than 3001 characters [json-pointer:/blocks/0]"]}});
        let says = "Slack refuses it: invalid_blocks: [ERROR] must be less than 3001 characters \
                    [json-pointer:/blocks/0]";
        assert_eq!(read(200, &answer).send_error("C1"), SendError::Refused(says.to_owned()));
        for (status, answer) in [
            (502, Value::Null),
            (200, Value::Null),
            (200, json!({"ok": false, "error": "internal_error"})),
        ] {
            let error = read(status, &answer).send_error("C1");
            assert!(matches!(error, SendError::Transient(_)), "{status}: {error:?}");
        }
    }
}
