//! Chats and messages as the core spells them: `CHAT`, `CHAT/TOPIC` and `CHAT/MESSAGE`.

use countersign_port::{MessageRef, SendError, Target};
use teloxide::types::{ChatId, MessageId, ThreadId};

/// A chat, or one topic of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    pub(crate) topic: Option<i32>,
}

/// A message in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MessageAddress {
    pub(crate) chat: i64,
    pub(crate) message: i32,
}

impl Chat {
    pub(crate) fn parse(target: &Target) -> Result<Self, SendError> {
        let (id, topic) = match target.0.split_once('/') {
            Some((id, topic)) => (id, Some(topic)),
            None => (target.0.as_str(), None),
        };
        let parsed = id.parse().ok().zip(topic.map(str::parse).transpose().ok());
        let (id, topic) = parsed.ok_or_else(|| {
            SendError::TargetGone(format!(
                "`{}` is not a Telegram chat: write `CHAT` or `CHAT/TOPIC` in numbers; the bot \
                 answers \
                 /id in a chat with its number",
                target.0
            ))
        })?;
        Ok(Self { id, topic })
    }

    pub(crate) fn target(self) -> Target {
        Target(match self.topic {
            Some(topic) => format!("{}/{topic}", self.id),
            None => self.id.to_string(),
        })
    }

    pub(crate) fn thread(self) -> Option<ThreadId> {
        self.topic.map(|topic| ThreadId(MessageId(topic)))
    }
}

impl MessageAddress {
    pub(crate) fn parse(message: &MessageRef) -> Result<Self, SendError> {
        let parts = message.0.split_once('/');
        let parsed = parts.and_then(|(chat, id)| chat.parse().ok().zip(id.parse().ok()));
        let (chat, message) = parsed.ok_or_else(|| {
            SendError::Refused(format!("`{}` is not a Telegram message of ours", message.0))
        })?;
        Ok(Self { chat, message })
    }

    pub(crate) fn message_ref(self) -> MessageRef {
        MessageRef(format!("{}/{}", self.chat, self.message))
    }

    pub(crate) fn of(chat: ChatId, message: MessageId) -> Self {
        Self { chat: chat.0, message: message.0 }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn spellings_go_round() {
        for spelling in ["-1001234567890/7", "-1001234567890", "4211"] {
            let target = Target(spelling.to_owned());
            assert_eq!(Chat::parse(&target).unwrap().target(), target);
        }
        let message = MessageRef("-1001234567890/55".to_owned());
        assert_eq!(
            MessageAddress::parse(&message).unwrap(),
            MessageAddress { chat: -1_001_234_567_890, message: 55 }
        );
        assert_eq!(MessageAddress::parse(&message).unwrap().message_ref(), message);
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for spelling in ["", "@team", "12/", "12/x", "1/2/3", "99999999999999999999"] {
            let refused = Chat::parse(&Target(spelling.to_owned())).unwrap_err().to_string();
            assert!(refused.contains(&format!("`{spelling}`")), "{refused}");
            assert!(MessageAddress::parse(&MessageRef(spelling.to_owned())).is_err());
        }
    }
}
