//! Answers to people: to a press, to a message, to a command; and the list of commands that
//! Telegram shows beside its input field.

use crate::address::Chat;
use crate::api::{BotApi, Failure, Method, PATIENCE, patiently};
use crate::errors::{self, sentence, too_late_to_answer};
use crate::page::{Page, Style};
use crate::send::{CardSender, html_message, reply_to};
use countersign_port::{BotCommand, CommandReply, ReplyPiece, SendError};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use teloxide::payloads::{
    AnswerCallbackQuery, AnswerCallbackQuerySetters as _, GetMyCommands, SendMessage, SetMyCommands,
};
use teloxide::types::{BotCommand as Listed, CallbackQueryId, ChatId, Message, ThreadId, UserId};
use tokio::time::Instant;

/// For so long a message waits for a chat that Telegram wants nothing sent to.
const LONGEST: Duration = Duration::from_secs(600);
/// What Telegram shows in a pop-up; longer texts are refused.
const ANSWER: usize = 200;

/// Tells the presser alone. Telegram wants an answer to every press, even an empty one.
pub(crate) async fn answer(api: &BotApi, query: CallbackQueryId, sentence: String, alert: bool) {
    let text: String = sentence.chars().take(ANSWER).collect();
    let answer = AnswerCallbackQuery::new(query).text(text).show_alert(alert);
    match patiently(|| api.call::<_, IgnoredAny>(&answer, PATIENCE)).await {
        Ok(_) => {}
        Err(failure) if too_late_to_answer(&failure) => {
            tracing::debug!("a press is too old to be answered; it was handled nonetheless");
        }
        Err(failure) => {
            let why = errors::sentence(&failure);
            tracing::warn!(why, "the reply to a press failed");
        }
    }
}

/// Answers a press that only shows something. One that cannot show it now says so.
pub(crate) async fn answer_view(
    api: &BotApi,
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

/// Whom an answer to a message concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Everybody in the chat.
    Chat,
    /// Who wrote it: in a group nobody else sees the answer, where Telegram's server can do that.
    Writer,
}

/// A message that one person sees. A server before Bot API 10.2 ignores that, and shows it to all.
#[derive(Serialize)]
struct Ephemeral<'a> {
    #[serde(flatten)]
    message: &'a SendMessage,
    ephemeral_message_parameters: EphemeralMessageParameters,
}

#[derive(Serialize)]
struct EphemeralMessageParameters {
    receiver_user_id: UserId,
}

impl Method for Ephemeral<'_> {
    const NAME: &'static str = <SendMessage as Method>::NAME;
}

/// Says something in reply to a message.
pub(crate) async fn tell(cards: Arc<CardSender>, to: Message, page: Page, audience: Audience) {
    let chat = Chat { id: to.chat.id.0, topic: topic(&to).map(|it| it.0.0) };
    let mut message = html_message(chat, page.html());
    message.reply_parameters = Some(reply_to(to.id.0));
    let writer = to.from.as_ref().filter(|_| !to.chat.is_private() && to.sender_chat.is_none());
    if let (Some(writer), Audience::Writer) = (writer, audience) {
        let ephemeral_message_parameters =
            EphemeralMessageParameters { receiver_user_id: writer.id };
        let ephemeral = Ephemeral { message: &message, ephemeral_message_parameters };
        match say(&cards, &ephemeral, to.chat.id).await {
            Err(Failure::Refused(why)) => {
                tracing::debug!(why.description, "no message for one person: the chat sees it");
            }
            Ok(()) => return,
            Err(failure) => {
                let why = errors::sentence(&failure);
                return tracing::warn!(why, "a message could not be answered");
            }
        }
    }
    if let Err(failure) = say(&cards, &message, to.chat.id).await {
        tracing::warn!(why = errors::sentence(&failure), "a message could not be answered");
    }
}

/// Sends a message that a person waits for. A chat that Telegram wants nothing sent to gets it
/// when that is over: cards and messages keep the same silence.
pub(crate) async fn say<M: Method + Serialize + Sync>(
    cards: &CardSender,
    message: &M,
    chat: ChatId,
) -> Result<(), Failure> {
    let give_up = Instant::now() + LONGEST;
    loop {
        while let Err(SendError::Retry { after, .. }) = cards.may_send(chat.0) {
            tokio::time::sleep(after).await;
        }
        let send = || async {
            let sent = cards.api.call::<M, IgnoredAny>(message, PATIENCE).await;
            sent.map_err(|failure| cards.remember_silence(failure, chat.0))
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

/// The most that Telegram takes.
const MOST: usize = 100;
/// What a message takes, in characters; some are left for "and more".
const ROOM: usize = 4_000;

/// A command as it is listed there now.
#[derive(Deserialize)]
struct There {
    command: String,
    #[serde(default)]
    description: String,
}

/// Lists our commands where they are not listed so already; others' stay. Failing is no fault: the
/// commands work unlisted.
pub(crate) async fn register(api: BotApi, commands: &'static [BotCommand]) {
    if let Err(failure) = try_register(&api, commands).await {
        let why = sentence(&failure);
        tracing::warn!(why, "telegram does not list the bot's commands; they work nonetheless");
    }
}

async fn try_register(api: &BotApi, commands: &[BotCommand]) -> Result<(), Failure> {
    if commands.is_empty() {
        return Ok(());
    }
    let get = GetMyCommands::new();
    let there: Vec<There> = patiently(|| api.call(&get, PATIENCE)).await?;
    let there: Vec<(String, String)> =
        there.into_iter().map(|it| (it.command, it.description)).collect();
    let Some(wanted) = changed(&there, commands) else { return Ok(()) };
    let listed = wanted.into_iter().map(|(name, about)| Listed::new(name, about));
    let set = SetMyCommands::new(listed.collect::<Vec<_>>());
    patiently(|| api.call::<_, IgnoredAny>(&set, PATIENCE)).await?;
    tracing::info!("telegram lists the bot's commands");
    Ok(())
}

/// The whole list as it should be; `None` where it is so.
fn changed(there: &[(String, String)], commands: &[BotCommand]) -> Option<Vec<(String, String)>> {
    let ours = commands.iter().map(|it| (it.name.to_owned(), it.description.to_owned()));
    let others = there.iter().filter(|(name, _)| commands.iter().all(|it| it.name != name));
    let wanted: Vec<_> = ours.chain(others.cloned()).take(MOST).collect();
    (wanted != there).then_some(wanted)
}

/// What the bot says, as one message: what does not fit is counted.
pub(crate) fn page(reply: &CommandReply) -> Page {
    let mut page = Page::default();
    let mut room = ROOM;
    for (at, line) in reply.lines.iter().enumerate() {
        let length: usize = line.iter().map(|piece| piece.plain().chars().count()).sum();
        let Some(left) = room.checked_sub(length + 1) else {
            page.add(Style::Plain, format!("\n… and {} lines more.", reply.lines.len() - at));
            break;
        };
        room = left;
        if at > 0 {
            page.add(Style::Plain, "\n");
        }
        for piece in line {
            match piece {
                ReplyPiece::Words(words) => page.add(Style::Plain, words.clone()),
                // SECURITY: as code it pings nobody and links nowhere.
                ReplyPiece::Literal(text) => page.add(Style::Code, text.clone()),
                ReplyPiece::Link { label, url } => page.link(label, url),
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use countersign_port::Outcome;

    const DENY: BotCommand = BotCommand { name: "deny", description: "No.", parameters: &[] };

    fn entry(name: &str, about: &str) -> (String, String) {
        (name.to_owned(), about.to_owned())
    }

    #[test]
    fn a_list_that_stands_is_left_alone_and_others_commands_stay() {
        assert_eq!(changed(&[], &[DENY]).unwrap(), [entry("deny", "No.")]);
        assert_eq!(changed(&[entry("deny", "No.")], &[DENY]), None);
        let both = [entry("deny", "No."), entry("weather", "Rain.")];
        assert_eq!(changed(&both, &[DENY]), None);
        let old = [entry("weather", "Rain."), entry("deny", "Never.")];
        assert_eq!(changed(&old, &[DENY]).unwrap(), both);
    }

    // Telegram makes no link of an address without a dot in its host.
    #[test]
    fn a_link_shows_its_label_alone_where_telegram_makes_it_a_link() {
        let said = |url: &str| {
            let link = ReplyPiece::Link { label: "Sign in".to_owned(), url: url.to_owned() };
            page(&CommandReply { outcome: Outcome::Noted, lines: vec![vec![link]] })
        };
        let near = said("http://127.0.0.1:7117/sign-in#k&3");
        let html = "<a href=\"http://127.0.0.1:7117/sign-in#k&amp;3\">Sign in</a>";
        assert_eq!((near.html(), near.text()), (html.to_owned(), "Sign in".to_owned()));
        let local = "http://localhost:7117/sign-in#k3";
        assert_eq!(said(local).html(), local);
    }

    #[test]
    fn what_does_not_fit_into_a_message_is_counted() {
        let long = ReplyPiece::Literal("<x>".repeat(500));
        let lines = vec![vec![ReplyPiece::Words("a7f3 ".to_owned()), long]; 5];
        let shown = page(&CommandReply { outcome: Outcome::Noted, lines }).text();
        assert!(shown.chars().count() <= 4_096, "{}", shown.chars().count());
        assert!(shown.ends_with("\n… and 3 lines more."), "{shown}");
    }
}
