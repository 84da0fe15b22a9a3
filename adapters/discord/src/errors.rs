//! What Discord's refusals mean for the core.

use countersign_port::{RetryScope, SendError};
use serde_json::Value;
use std::time::Duration;

/// How long to keep away where Discord (or the network before it) blocks us without saying for how
/// long: many refused requests in ten minutes ban the address.
const BLOCKED: Duration = Duration::from_secs(600);

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Problem {
    /// 401: the token is not, or no longer, a bot's.
    #[error("Discord refuses the token; put a fresh one under `[discord] token`")]
    Unauthorized,
    /// 429, or our own knowledge that it would be.
    #[error("Discord asks to wait {} s", after.as_secs_f32())]
    Wait {
        /// How long.
        after: Duration,
        /// Whether one channel's limit was reached, or one of the bot's own.
        scope: RetryScope,
    },
    /// A refusal with Discord's own code.
    #[error("Discord refuses it: {message} (code {code}, HTTP {status})")]
    Refused {
        /// Discord's code, 0 where it gives none.
        code: i64,
        /// HTTP's.
        status: u16,
        /// Discord's words.
        message: String,
    },
    /// No answer, or none that can be read.
    #[error("Discord cannot be reached: {0}")]
    Unreachable(String),
    /// This daemon does not lead.
    #[error("another daemon may lead by now, so nothing was sent")]
    Deposed,
}

impl Problem {
    /// Reads a refusal. `retry_after` is the header of that name, in seconds.
    pub(crate) fn read(status: u16, retry_after: Option<f64>, body: &str) -> Self {
        let json: Option<Value> = serde_json::from_str(body).ok();
        let told = json.as_ref().and_then(|json| json.get("retry_after")).and_then(Value::as_f64);
        let wait = told.or(retry_after).and_then(|s| Duration::try_from_secs_f64(s).ok());
        let after = wait.unwrap_or(BLOCKED);
        match (status, json) {
            (401, _) => Self::Unauthorized,
            (429, Some(json)) => Self::Wait { after, scope: scope(&json) },
            // Without Discord's own words it is the network before it, and concerns everything.
            (429 | 403, None) => Self::Wait { after, scope: RetryScope::Account },
            (400..=499, Some(json)) => Self::Refused {
                code: json.get("code").and_then(Value::as_i64).unwrap_or_default(),
                status,
                message: words(&json),
            },
            (413, None) => Self::Refused {
                code: 0,
                status,
                message: "the message and its files are too large".to_owned(),
            },
            (status, _) => Self::Unreachable(format!("it answered HTTP {status}")),
        }
    }

    /// Discord's code of a refusal.
    pub(crate) fn code(&self) -> Option<i64> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// What the core does about it.
    pub(crate) fn send_error(self, channel: &str) -> SendError {
        match &self {
            Self::Unauthorized => SendError::Fatal(self.to_string()),
            Self::Wait { after, scope } => SendError::Retry { after: *after, scope: *scope },
            Self::Unreachable(_) | Self::Deposed => SendError::Transient(self.to_string()),
            Self::Refused { code, status, .. } => match gone(*code, *status) {
                // A channel that was deleted, or a thread that is locked.
                Some(fix) if matches!(code, 10003 | 50083 | 160_005) => {
                    SendError::ThreadGone(format!("Discord channel {channel}: {fix}"))
                }
                Some(fix) => SendError::TargetGone(format!("Discord channel {channel}: {fix}")),
                // An unknown route, such as behind a proxy that is not ready.
                None if *status == 404 => SendError::Transient(self.to_string()),
                None => SendError::Refused(self.to_string()),
            },
        }
    }

    /// The same for direct messages that cannot be opened: whatever Discord refuses there, the
    /// person cannot be reached.
    pub(crate) fn send_error_for(self, person: &str) -> SendError {
        match &self {
            Self::Refused { .. } => {
                SendError::TargetGone(format!("Discord person {person}: {self}"))
            }
            _ => self.send_error(person),
        }
    }
}

/// How to fix a channel that cannot be reached, where it is the channel's fault.
pub(crate) fn gone(code: i64, status: u16) -> Option<&'static str> {
    Some(match code {
        10003 => "this channel does not exist or was deleted; correct `[discord] targets`",
        50001 => {
            "the bot cannot see it; invite the bot to the server (`countersign connect discord` \
             prints the link) and give it View Channel there"
        }
        50013 => {
            "the bot may not write there; give it Send Messages, Send Messages in Threads and \
             Attach \
             Files in the channel's settings"
        }
        50007 => "this person accepts no messages from the bot; target a channel instead",
        50008 => "it is not a channel for text; target a text channel or a thread",
        50083 | 160_005 => "the thread is archived and locked; unlock it or target another channel",
        _ if status == 403 => {
            "Discord does not let the bot write there; check the bot's permissions in the channel"
        }
        _ => return None,
    })
}

/// What a limit concerns, in Discord's own words.
fn scope(json: &Value) -> RetryScope {
    match json.get("global").and_then(Value::as_bool) {
        Some(false) => RetryScope::Target,
        Some(true) | None => RetryScope::Account,
    }
}

/// Discord's message with the first of its details.
fn words(json: &Value) -> String {
    let message = json.get("message").and_then(Value::as_str).unwrap_or("no reason given");
    let Some((path, detail)) = json.get("errors").and_then(|errors| first_detail(errors, ""))
    else {
        return message.to_owned();
    };
    format!("{message}: {path}: {detail}")
}

fn first_detail(errors: &Value, path: &str) -> Option<(String, String)> {
    let errors = errors.as_object()?;
    if let Some(found) = errors.get("_errors").and_then(|list| list.get(0)) {
        let message = found.get("message").and_then(Value::as_str).unwrap_or_default();
        return Some((path.to_owned(), message.to_owned()));
    }
    errors.iter().find_map(|(key, inner)| {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        first_detail(inner, &path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> SendError {
        Problem::read(status, None, body).send_error("7")
    }

    #[test]
    fn limits_carry_the_servers_time() {
        let body = r#"{"message":"You are being rate limited.","retry_after":1.5,"global":false}"#;
        let wait = |after, scope| SendError::Retry { after, scope };
        let everything = |after| wait(after, RetryScope::Account);
        let half = Duration::from_millis(1500);
        let minute = Duration::from_secs(60);
        assert_eq!(refusal(429, body), wait(half, RetryScope::Target));
        assert_eq!(refusal(429, &body.replace("false", "true")), everything(half));
        let blocked = Problem::read(429, Some(60.0), "error code: 1015").send_error("7");
        assert_eq!(blocked, everything(minute));
        assert_eq!(refusal(429, "error code: 1015"), everything(BLOCKED));
        assert_eq!(refusal(403, "<html>blocked</html>"), everything(BLOCKED));
        let nonsense = Problem::read(429, Some(f64::NAN), "").send_error("7");
        assert_eq!(nonsense, everything(BLOCKED));
    }

    #[test]
    fn a_refused_token_is_fatal_and_names_its_key() {
        assert_eq!(
            refusal(401, r#"{"message":"401: Unauthorized","code":0}"#),
            SendError::Fatal(
                "Discord refuses the token; put a fresh one under `[discord] token`".to_owned()
            )
        );
    }

    #[test]
    fn a_channel_that_cannot_be_reached_is_gone_with_its_fix() {
        for (status, code, fix) in [
            (404, 10003, "does not exist"),
            (403, 50001, "cannot see it"),
            (403, 50013, "may not write"),
            (403, 50007, "accepts no messages"),
            (400, 50008, "not a channel for text"),
            (400, 50083, "archived and locked"),
            (403, 40333, "does not let"),
        ] {
            let error = refusal(status, &format!(r#"{{"message":"x","code":{code}}}"#));
            let is_place = matches!(code, 10003 | 50083);
            let sentence = match &error {
                SendError::ThreadGone(sentence) if is_place => sentence,
                SendError::TargetGone(sentence) if !is_place => sentence,
                _ => panic_on(&error),
            };
            assert!(sentence.starts_with("Discord channel 7: ") && sentence.contains(fix));
        }
    }

    #[expect(clippy::panic, reason = "tests fail by panicking")]
    fn panic_on(error: &SendError) -> ! {
        panic!("not gone: {error:?}")
    }

    #[test]
    fn a_refused_card_says_which_part() {
        let body = r#"{"message":"Invalid Form Body","code":50035,"errors":{"data":{"content":
            {"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer."}]}}}}"#;
        assert_eq!(
            refusal(400, body),
            SendError::Refused(
                "Discord refuses it: Invalid Form Body: data.content: Must be 2000 or fewer. \
                 (code 50035, HTTP 400)"
                    .to_owned()
            )
        );
    }

    #[test]
    fn trouble_on_their_side_passes() {
        for (status, body) in [(502, "<html>"), (500, "{}"), (404, r#"{"code":0}"#), (404, "")] {
            let error = refusal(status, body);
            assert!(matches!(error, SendError::Transient(_)), "{status}: {error:?}");
        }
    }
}
