//! What a failed call means.

use crate::{address::Chat, api::Failure};
use countersign_port::{RetryScope, SendError};
use std::time::Duration;

/// Refusals (lower case, any part) that will not change by asking again: this chat is out of reach.
const GONE: [&str; 10] = [
    "chat not found",
    "chat_not_found",
    "peer_id_invalid",
    "user not found",
    "group chat was deactivated",
    "not enough rights",
    "have no rights to send",
    "need administrator rights",
    "chat_write_forbidden",
    "chat_restricted",
];

/// The same for one topic of a chat.
const NO_TOPIC: [&str; 4] =
    ["message thread not found", "topic_closed", "topic_deleted", "topic_id_invalid"];

/// Refusals of an edit that leave nothing to do: it looks like this already, or it is gone.
const EDIT_NEEDLESS: [&str; 4] = [
    "message is not modified",
    "message to edit not found",
    "message_id_invalid",
    "message can't be edited",
];

const DEPOSED: &str = "another daemon may lead by now, so nothing was sent";

/// What the core does about a card that could not be sent to `chat`.
pub(crate) fn send_error(failure: Failure, chat: Chat) -> SendError {
    let refusal = match failure {
        Failure::Refused(refusal) => refusal,
        Failure::Garbled(why) | Failure::Network(why) => return SendError::Transient(why),
        Failure::Unusable(why) => return SendError::Fatal(why),
        Failure::Deposed => return SendError::Transient(DEPOSED.to_owned()),
    };
    if let Some(seconds) = refusal.parameters.retry_after {
        return in_chat(Duration::from_secs(seconds));
    }
    if let Some(id) = refusal.parameters.migrate_to_chat_id {
        return SendError::Moved(Chat { id, ..chat }.target());
    }
    let said = refusal.description;
    let means = said.to_lowercase();
    match refusal.code {
        401 | 404 => SendError::Fatal(refused_token(&said)),
        403 => SendError::TargetGone(format!("Telegram chat {}: {said}", chat.id)),
        429 => in_chat(Duration::from_secs(5)),
        400 if NO_TOPIC.iter().any(|gone| means.contains(gone)) => {
            SendError::ThreadGone(format!("Telegram chat {}: {said}", chat.id))
        }
        400 if GONE.iter().any(|gone| means.contains(gone)) => {
            SendError::TargetGone(format!("Telegram chat {}: {said}", chat.id))
        }
        409 | 500.. => SendError::Transient(format!("Telegram: {said}")),
        _ => SendError::Refused(format!("Telegram refuses this card: {said}")),
    }
}

/// Telegram does not tell which of its limits was reached; a chat's are by far the lowest.
pub(crate) fn in_chat(after: Duration) -> SendError {
    SendError::Retry { after, scope: RetryScope::Target }
}

/// How long Telegram wants nothing sent.
pub(crate) fn silence(failure: &Failure) -> Option<Duration> {
    let Failure::Refused(refusal) = failure else { return None };
    refusal.parameters.retry_after.map(Duration::from_secs)
}

/// Whether a failed edit leaves nothing to do.
pub(crate) fn edit_needless(failure: &Failure) -> bool {
    says(failure, &EDIT_NEEDLESS)
}

/// Whether Telegram could not read the formatting; nothing was sent then.
pub(crate) fn bad_formatting(failure: &Failure) -> bool {
    says(failure, &["can't parse entities"])
}

/// Whether the press is too old to be answered on the phone. Harmless: it was committed.
pub(crate) fn too_late_to_answer(failure: &Failure) -> bool {
    says(failure, &["query is too old", "query id is invalid", "query_id_invalid"])
}

/// Whether Telegram does not know the bot.
pub(crate) fn token_refused(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(refusal) if matches!(refusal.code, 401 | 404))
}

/// The sentence for a token that Telegram does not know.
pub(crate) fn refused_token(said: &str) -> String {
    format!(
        "Telegram does not accept `[telegram] token` ({said}): copy the token from @BotFather \
         (/mybots \
         → your bot → API Token), and look at `[telegram] api_url` if you set it"
    )
}

/// How long to wait before the same call makes sense again; `None` when it never will.
pub(crate) fn pause(failure: &Failure, backoff: Duration) -> Option<Duration> {
    match failure {
        Failure::Refused(refusal) => match (refusal.parameters.retry_after, refusal.code) {
            (Some(seconds), _) => Some(Duration::from_secs(seconds)),
            (None, 409 | 429 | 500..) => Some(backoff),
            (None, _) => None,
        },
        Failure::Garbled(_) | Failure::Network(_) => Some(backoff),
        Failure::Unusable(_) | Failure::Deposed => None,
    }
}

/// The sentence for people.
pub(crate) fn sentence(failure: &Failure) -> String {
    match failure {
        Failure::Refused(refusal) => format!("Telegram says: {}", refusal.description),
        Failure::Garbled(why) | Failure::Network(why) | Failure::Unusable(why) => why.clone(),
        Failure::Deposed => DEPOSED.to_owned(),
    }
}

/// Whether a refusal says one of these.
pub(crate) fn says(failure: &Failure, parts: &[&str]) -> bool {
    let Failure::Refused(refusal) = failure else { return false };
    let said = refusal.description.to_lowercase();
    refusal.code == 400 && parts.iter().any(|part| said.contains(part))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "tests fail by panicking")]

    use super::*;
    use crate::api::{BotApiError, Parameters};
    use countersign_port::Target;

    const CHAT: Chat = Chat { id: -42, topic: Some(7) };

    fn refused(code: u16, description: &str) -> Failure {
        let description = description.to_owned();
        Failure::Refused(BotApiError { code, description, parameters: Parameters::default() })
    }

    #[test]
    fn every_refusal_has_its_meaning() {
        let table = [
            (401, "Unauthorized", "fatal"),
            (404, "Not Found", "fatal"),
            (403, "Forbidden: bot was blocked by the user", "gone"),
            (403, "Forbidden: bot was kicked from the supergroup chat", "gone"),
            (403, "Forbidden: bot can't initiate conversation with a user", "gone"),
            (400, "Bad Request: chat not found", "gone"),
            (400, "Bad Request: message thread not found", "no topic"),
            (400, "Bad Request: TOPIC_CLOSED", "no topic"),
            (400, "Bad Request: not enough rights to send text messages to the chat", "gone"),
            (400, "Bad Request: CHAT_WRITE_FORBIDDEN", "gone"),
            (400, "Bad Request: BUTTON_DATA_INVALID", "refused"),
            (400, "Bad Request: message is too long", "refused"),
            (413, "Request Entity Too Large", "refused"),
            (409, "Conflict: terminated by other getUpdates request", "transient"),
            (500, "Internal Server Error", "transient"),
            (502, "Bad Gateway", "transient"),
            (429, "Too Many Requests", "retry"),
        ];
        for (code, said, expected) in table {
            let kind = match send_error(refused(code, said), CHAT) {
                SendError::Fatal(why) => {
                    assert!(why.contains("`[telegram] token`"), "{why}");
                    "fatal"
                }
                SendError::TargetGone(why) => {
                    assert!(why.contains("-42") && why.contains(said), "{why}");
                    "gone"
                }
                SendError::ThreadGone(why) => {
                    assert!(why.contains("-42") && why.contains(said), "{why}");
                    "no topic"
                }
                SendError::Refused(_) => "refused",
                SendError::Transient(_) => "transient",
                SendError::Retry { .. } => "retry",
                SendError::Moved(_) => "moved",
            };
            assert_eq!((said, kind), (said, expected));
        }
    }

    #[test]
    fn the_parameters_win_over_the_words() {
        let with = |parameters| {
            Failure::Refused(BotApiError {
                code: 400,
                description: "Bad Request: x".into(),
                parameters,
            })
        };
        let wait = with(Parameters { retry_after: Some(17), migrate_to_chat_id: None });
        assert_eq!(send_error(wait, CHAT), in_chat(Duration::from_secs(17)));
        let moved = with(Parameters { retry_after: None, migrate_to_chat_id: Some(-1009) });
        assert_eq!(send_error(moved, CHAT), SendError::Moved(Target("-1009/7".into())));
    }

    #[test]
    fn a_lost_or_unreadable_answer_is_worth_another_try() {
        for failure in [Failure::Network("n".into()), Failure::Garbled("g".into())] {
            assert!(matches!(send_error(failure, CHAT), SendError::Transient(_)));
        }
        assert_eq!(send_error(Failure::Unusable("u".into()), CHAT), SendError::Fatal("u".into()));
    }

    #[test]
    fn harmless_refusals_are_known_by_their_words_in_any_case() {
        assert!(edit_needless(&refused(400, "Bad Request: message is not modified: specified …")));
        assert!(edit_needless(&refused(400, "Bad Request: message to edit not found")));
        assert!(!edit_needless(&refused(400, "Bad Request: MESSAGE_TOO_LONG")));
        assert!(too_late_to_answer(&refused(
            400,
            "Bad Request: query is too old and response timeout expired or query ID is invalid"
        )));
        assert!(!too_late_to_answer(&refused(429, "Too Many Requests: retry after 3")));
        assert!(bad_formatting(&refused(400, "Bad Request: can't parse entities: Unsupported …")));
        assert!(!bad_formatting(&Failure::Network("can't parse entities".into())));
    }

    #[test]
    fn a_pause_follows_the_platform_and_ends_where_repeating_is_pointless() {
        let backoff = Duration::from_millis(500);
        assert_eq!(pause(&refused(502, "Bad Gateway"), backoff), Some(backoff));
        assert_eq!(pause(&Failure::Network("x".into()), backoff), Some(backoff));
        assert_eq!(pause(&refused(400, "Bad Request: chat not found"), backoff), None);
        assert_eq!(pause(&refused(403, "Forbidden"), backoff), None);
    }
}
