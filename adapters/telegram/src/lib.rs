//! countersign's cards in Telegram.
//!
//! Requests and answers are teloxide's types, its dispatcher is not used: it confirms updates before
//! their handlers end, so a crash loses a press; its calls have one timeout for all and sleep 10 s
//! after a 5xx, while a person waits.
//!
//! INVARIANT: an update is confirmed to Telegram (by the offset of the next pull) only after
//! [`Presses::press`] has returned for every press in its batch. What was not confirmed comes back.

mod address;
mod admins;
mod api;
mod card;
mod check;
mod errors;
mod page;
mod platform;
mod press;
mod prompt;
mod pull;
mod send;
mod tell;
mod topics;
mod written;

use address::{Chat, MessageAddress};
use admins::Admins;
use api::BotApi;
use countersign_port::{
    Adapter, CancellationToken, Card, CommandReply, Lead, MessageRef, Outcome, Pace, Posting,
    Presses, Reminder, ReplyPiece, SendError, SessionThread, Signals, Target,
};
use errors::sentence;
use send::{CardSender, html, html_message, reply_to};
use std::sync::Arc;
use std::time::Duration;
use tell::page;

pub use check::{check, check_target};
pub use platform::{TelegramConfig, TelegramPlatform};

/// The Telegram adapter.
///
/// Targets are `CHAT` or `CHAT/TOPIC` in numbers, messages are `CHAT/MESSAGE`.
pub struct Telegram {
    cards: Arc<CardSender>,
    signals: Signals,
    admins: Arc<Admins>,
    /// For what only reads: a daemon that does not lead counts votes too.
    reader: BotApi,
    conflict_pause: Duration,
}

impl Telegram {
    /// An adapter that is not connected yet; [`Adapter::run`] connects it.
    #[must_use]
    pub fn new(config: TelegramConfig) -> Self {
        let cards = Arc::new(CardSender::new(BotApi::new(&config)));
        let signals = Signals::default();
        let admins = Arc::default();
        let reader = BotApi::new(&config);
        Self { cards, signals, admins, reader, conflict_pause: pull::CONFLICT }
    }

    /// For tests: another program that polls the bot has the line for this long, instead of 6 s.
    #[doc(hidden)]
    #[must_use]
    pub fn pausing_after_a_conflict(mut self, pause: Duration) -> Self {
        self.conflict_pause = pause;
        self
    }

    fn listening(&self) {
        if self.signals.listening() {
            tracing::info!("telegram brings presses");
        }
    }

    fn deaf(&self, why: String) {
        if self.signals.deaf(&*why) {
            tracing::warn!(why, "telegram brings no presses; trying again");
        }
    }
}

#[countersign_port::async_trait]
impl Adapter for Telegram {
    fn signals(&self) -> &Signals {
        &self.signals
    }

    fn lead(&self, lead: Arc<dyn Lead>) {
        self.cards.api.guard.follow(lead);
    }

    // Telegram publishes about one message a second in a chat with short bursts, and 20 a minute in
    // a group. Edits count too.
    fn pace(&self, target: &Target) -> Option<Pace> {
        let is_group = Chat::parse(target).is_ok_and(|chat| chat.id < 0);
        Some(Pace { at_once: 5, a_minute: if is_group { 20 } else { 60 } })
    }

    // Telegram knows no card by an id of ours and lists no messages: what an earlier process has
    // posted cannot be found. What this one has posted, `CardSender` remembers.
    async fn post(
        &self,
        target: &Target,
        card: &Card,
        _: Posting,
    ) -> Result<MessageRef, SendError> {
        self.cards.post(target, card).await
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.cards.update(message, card).await
    }

    async fn roles_now(&self, person: &str, of: &[String]) -> Result<Option<Vec<String>>, String> {
        let roles = match person.parse() {
            Ok(user) => self.admins.roles(&self.reader, user, of).await,
            Err(_) => Ok(Vec::new()),
        };
        roles.map(Some).map_err(|failure| {
            format!(
                "Telegram did not say who its administrators are just now, so nothing changed. \
                 Press again. ({})",
                sentence(&failure)
            )
        })
    }

    async fn remind(
        &self,
        target: &Target,
        message: &MessageRef,
        reminder: &Reminder,
    ) -> Result<(), SendError> {
        let chat = Chat::parse(target)?;
        let card = MessageAddress::parse(message)?;
        let mut reply = html_message(chat, html(reminder));
        reply.reply_parameters = Some(reply_to(card.message));
        self.cards.send_text(chat, &reply).await
    }

    async fn announce(&self, target: &Target, lines: &[Vec<ReplyPiece>]) -> Result<(), SendError> {
        let chat = Chat::parse(target)?;
        let said = page(&CommandReply { outcome: Outcome::Noted, lines: lines.to_vec() });
        self.cards.send_text(chat, &html_message(chat, said.html())).await
    }

    async fn open_thread(
        &self,
        target: &Target,
        thread: &SessionThread,
        posting: Posting,
    ) -> Result<Target, SendError> {
        self.cards.open_topic(target, thread, posting).await
    }

    async fn close_thread(&self, _: &Target, thread: &SessionThread) -> Result<(), SendError> {
        self.cards.close_topic(thread).await
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        self.receive(presses, stop).await;
    }
}
