//! Answers to people: to a press, and to a message.

use crate::api::{BotApi, Failure, PATIENCE};
use crate::errors::{self, too_late_to_answer};
use crate::page::Page;
use crate::retry::patiently;
use crate::send::{CardSender, no_preview};
use countersign_port::SendError;
use serde::de::IgnoredAny;
use std::{sync::Arc, time::Duration};
use teloxide::payloads::{
    AnswerCallbackQuery, AnswerCallbackQuerySetters as _, SendMessage, SendMessageSetters as _,
};
use teloxide::types::{CallbackQueryId, ChatId, Message, ParseMode, ReplyParameters, ThreadId};
use tokio::time::Instant;

/// For so long a message waits for a chat that Telegram wants nothing sent to.
const LONGEST: Duration = Duration::from_secs(600);
/// What Telegram shows in a pop-up; longer texts are refused.
const ANSWER: usize = 200;

/// Tells the presser alone. Telegram wants an answer to every press, even an empty one.
pub(crate) async fn answer(api: BotApi, query: CallbackQueryId, sentence: String, alert: bool) {
    let text: String = sentence.chars().take(ANSWER).collect();
    let answer = AnswerCallbackQuery::new(query).text(text).show_alert(alert);
    match patiently(|| api.call::<_, IgnoredAny>(&answer, PATIENCE)).await {
        Ok(_) => {}
        Err(failure) if too_late_to_answer(&failure) => {
            tracing::debug!("a press is too old to be answered; it was handled nonetheless");
        }
        Err(failure) => {
            let why = errors::sentence(&failure);
            tracing::warn!(why, "a presser could not be told what happened");
        }
    }
}

/// Answers a press that only shows something. One that cannot show it now says so.
pub(crate) async fn answer_view(
    api: BotApi,
    query: CallbackQueryId,
    sentence: String,
    shown: Result<(), SendError>,
) {
    match shown {
        Ok(()) => answer(api, query, sentence, false).await,
        Err(error) => {
            tracing::debug!(%error, "a view of a card could not be shown");
            let words = format!("This cannot be shown now: {error}. Press again then.");
            answer(api, query, words, true).await;
        }
    }
}

/// Says something in reply to a message.
pub(crate) async fn tell(api: BotApi, cards: Arc<CardSender>, to: Message, page: Page) {
    let mut message = SendMessage::new(ChatId(to.chat.id.0), page.html())
        .parse_mode(ParseMode::Html)
        .link_preview_options(no_preview())
        .reply_parameters(ReplyParameters::new(to.id).allow_sending_without_reply());
    message.message_thread_id = topic(&to);
    if let Err(failure) = say(&api, &cards, &message, to.chat.id).await {
        tracing::warn!(why = errors::sentence(&failure), "a message could not be answered");
    }
}

/// Sends a message that a person waits for. A chat that Telegram wants nothing sent to gets it
/// when that is over: cards and messages keep the same silence.
pub(crate) async fn say(
    api: &BotApi,
    cards: &CardSender,
    message: &SendMessage,
    chat: ChatId,
) -> Result<(), Failure> {
    let give_up = Instant::now() + LONGEST;
    loop {
        while let Err(SendError::Retry { after, .. }) = cards.may_send(chat.0) {
            tokio::time::sleep(after).await;
        }
        let send = || async {
            let sent = api.call::<_, IgnoredAny>(message, PATIENCE).await;
            sent.map_err(|failure| cards.heed(failure, chat.0))
        };
        let sent = patiently(send).await;
        // A silence that is longer than the patience with everything else.
        let silenced = matches!(&sent, Err(failure) if errors::silence(failure).is_some());
        if !silenced || Instant::now() > give_up {
            return sent.map(drop);
        }
    }
}

/// The topic of a message. Only in forums: elsewhere the thread's number only says which reply
/// chain this is.
pub(crate) fn topic(message: &Message) -> Option<ThreadId> {
    message.thread_id.filter(|_| message.is_topic_message)
}
