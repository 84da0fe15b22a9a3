//! Topics of sessions in groups that have topics.

use crate::address::Chat;
use crate::api::{Method, PATIENCE};
use crate::errors::says;
use crate::send::CardSender;
use countersign_port::{Posting, SendError, SessionThread, Target};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use teloxide::payloads::{CloseForumTopic, CreateForumTopic, ReopenForumTopic};
use teloxide::types::{ChatId, MessageId, ThreadId};

/// The longest name of a topic, in characters.
const NAME: usize = 128;
/// Refusals (lower case, any part) of a chat in which no topic can be made.
const NO_TOPICS: [&str; 4] =
    ["not a forum", "not enough rights", "chat_admin_required", "topics_too_much"];
/// What is said where no topic can be made, and how to get some.
const HOW: &str = "switch Topics on in the group's settings, and make the bot an administrator who \
                   may manage topics";

#[derive(Deserialize)]
struct MadeTopic {
    message_thread_id: i32,
}

impl CardSender {
    /// Makes a topic, or opens the one that is there again.
    pub(crate) async fn open_topic(
        &self,
        target: &Target,
        thread: &SessionThread,
        posting: Posting,
    ) -> Result<Target, SendError> {
        if let Some(place) = &thread.place {
            let chat = Chat::parse(place)?;
            self.change_topic(chat, &ReopenForumTopic::new(ChatId(chat.id), thread_of(chat)))
                .await?;
            return Ok(place.clone());
        }
        if posting == Posting::MayRepeat {
            // FAIL-CLOSED: Telegram lists no topics, so this may be there already, without a card.
            return Err(SendError::Refused(
                "Telegram did not say whether it made the topic of this session, so its requests \
                 are in the group itself"
                    .to_owned(),
            ));
        }
        let chat = Chat::parse(target)?;
        self.may_send(chat.id)?;
        let name = thread.name_within(NAME);
        let create = CreateForumTopic::new(ChatId(chat.id), name);
        let made: Result<MadeTopic, _> = self.api.call(&create, PATIENCE).await;
        match made {
            Ok(made) => Ok(Chat { topic: Some(made.message_thread_id), ..chat }.target()),
            Err(failure) if says(&failure, &NO_TOPICS) => {
                let why = format!("Telegram chat {} does not accept topics: {HOW}", chat.id);
                Err(SendError::Refused(why))
            }
            Err(failure) => Err(self.remembered(failure, chat)),
        }
    }

    /// Closes a topic. Its cards stay as they are.
    pub(crate) async fn close_topic(&self, thread: &SessionThread) -> Result<(), SendError> {
        let Some(place) = &thread.place else { return Ok(()) };
        let chat = Chat::parse(place)?;
        let close = CloseForumTopic::new(ChatId(chat.id), thread_of(chat));
        match self.change_topic(chat, &close).await {
            Err(SendError::ThreadGone(_)) => Ok(()),
            closed => closed,
        }
    }

    async fn change_topic<P: Method + Serialize + Sync>(
        &self,
        chat: Chat,
        change: &P,
    ) -> Result<(), SendError> {
        self.may_send(chat.id)?;
        match self.api.call::<_, IgnoredAny>(change, PATIENCE).await {
            Ok(_) => Ok(()),
            Err(failure) if says(&failure, &["topic_not_modified"]) => Ok(()),
            // It was the bot's right once, and a closed topic takes no cards without it.
            Err(failure) if says(&failure, &NO_TOPICS) => {
                Err(SendError::ThreadGone(format!("Telegram chat {}: {HOW}", chat.id)))
            }
            Err(failure) => Err(self.remembered(failure, chat)),
        }
    }
}

fn thread_of(chat: Chat) -> ThreadId {
    chat.thread().unwrap_or(ThreadId(MessageId(0)))
}
