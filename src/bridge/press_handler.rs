//! What the core does with what people do to the cards of one adapter.

use super::{
    card::{self, Origin},
    foreign::Foreign,
    token::Token,
};
use crate::{
    gate::{DAMAGED, Gate, Reply, Told, approvers::Who, ask::Ask},
    store::{OwedText, Store, StoreError},
    text::line,
};
use countersign_port::{
    Card, MessageRef, Outcome, Press, Presser, Presses, Receipt, TextReply, async_trait,
};
use std::sync::Arc;

/// The longest sentence that every platform shows to a presser.
const SENTENCE: usize = 190;
/// What is told of a card that another store holds.
const FOREIGN: &str = "This card belongs to another countersign that uses the same bot, so nothing \
                       changed. Press again; if this comes back, tell whoever runs the bot.";
/// What is kept of a presser's name, in characters.
const NAME: usize = 64;

/// What is told of a text that nobody was asked for.
const NOT_OWED: &str =
    "You were not asked for a text here, so nothing changed. Press a button first.";

/// The core, as one adapter sees it.
// INVARIANT: it alone says which platform a press comes from. An adapter cannot.
#[derive(Debug)]
pub struct PressHandler {
    adapter: &'static str,
    gate: Arc<Gate>,
    store: Store,
    foreign: Foreign,
}

/// What somebody did to a card.
struct Input {
    presser: Presser,
    message: Option<MessageRef>,
    token: String,
    text: Option<String>,
}

impl PressHandler {
    /// For the adapter of this name, in front of this gate and the store of its cards.
    #[must_use]
    pub fn new(adapter: &'static str, gate: Arc<Gate>, store: Store) -> Arc<Self> {
        Arc::new(Self { adapter, gate, store, foreign: Foreign::default() })
    }

    /// The ask whose card this belongs to; `None` for forged, foreign and forgotten ones.
    // SECURITY: the nonce is 128 random bits, and a message that holds another card vouches for
    // that card only. A message that we do not know is a copy whose sending we could not confirm.
    async fn ask(&self, input: &Input, token: &Token) -> Result<Option<Ask>, StoreError> {
        let message = input.message.as_ref().map(|message| message.0.as_str());
        self.store.ask_of_card(&token.nonce, self.adapter, message).await
    }

    fn origin<'a>(&'a self, nonce: &'a str) -> Origin<'a> {
        Origin { nonce, store: self.store.id() }
    }

    async fn answer(&self, input: Input) -> Result<Receipt, StoreError> {
        let unknown = || {
            tracing::warn!(adapter = self.adapter, presser = %input.presser.id,
                "a press that belongs to no card");
            receipt(Outcome::Unknown, "This button no longer belongs to anything pending.")
        };
        let Some(token) = Token::read(&input.token) else { return Ok(unknown()) };
        // SECURITY: the nonce alone leads to a card. A token that says it is another store's is
        // never looked up: at best another daemon wrote it, and forging one gains nothing.
        if let Some(store) = token.store.as_deref().filter(|it| *it != self.store.id()) {
            self.foreign.note(self.adapter, store);
            return Ok(receipt(Outcome::Unknown, FOREIGN));
        }
        let Some(ask) = self.ask(&input, &token).await? else { return Ok(unknown()) };
        let who = Who {
            platform: self.adapter,
            id: input.presser.id.clone(),
            name: known_as(&input.presser.name),
            roles: input.presser.roles.clone(),
        };
        let id = ask.id.clone();
        let reply = self.gate.answer(ask, who, token.action(input.text.clone())).await;
        if reply.told == Told::TextWanted {
            self.owe(&input, id).await?;
        }
        Ok(receipt_of(reply, self.origin(&token.nonce)))
    }

    /// Notes that a text is owed before its presser is asked for it: a restart in between loses
    /// nothing.
    async fn owe(&self, input: &Input, ask: String) -> Result<(), StoreError> {
        let Some(MessageRef(message)) = input.message.clone() else { return Ok(()) };
        let (presser, token) = (input.presser.id.clone(), input.token.clone());
        let owed = OwedText { adapter: self.adapter.to_owned(), message, presser, token, ask };
        self.store.owe_text(&owed).await
    }

    async fn take_text(&self, reply: TextReply) -> Result<Receipt, StoreError> {
        let TextReply { presser, message, token, text } = reply;
        let (store, text) = (&self.store, Some(text));
        if let Some(token) = token {
            return self.answer(Input { presser, message, token, text }).await;
        }
        // FAIL-CLOSED: an ordinary message is never an answer.
        let not_owed = || Ok(receipt(Outcome::Unknown, NOT_OWED));
        let Some(at) = message.clone() else { return not_owed() };
        let id = presser.id.clone();
        let Some(token) = store.owed_text(self.adapter, &at.0, &id).await? else {
            return not_owed();
        };
        let input = Input { presser, message, token: token.clone(), text };
        let receipt = self.answer(input).await?;
        if matches!(receipt.outcome, Outcome::Applied | Outcome::Noted) {
            store.text_given(self.adapter, &at.0, &id, &token).await?;
        }
        Ok(receipt)
    }
}

#[async_trait]
impl Presses for PressHandler {
    async fn press(&self, press: Press) -> Receipt {
        let Press { presser, message, token } = press;
        let input = Input { presser, message, token, text: None };
        self.answer(input).await.unwrap_or_else(|error| fault(&error))
    }

    async fn reply(&self, reply: TextReply) -> Receipt {
        self.take_text(reply).await.unwrap_or_else(|error| fault(&error))
    }

    async fn card(&self, id: &str) -> Option<Card> {
        let ask = self.store.ask_of_card(id, self.adapter, None).await;
        let ask = ask.inspect_err(|error| tracing::warn!(%error, "a card cannot be read")).ok()?;
        ask.map(|ask| card::draw(&ask, self.origin(id)))
    }
}

fn fault(error: &StoreError) -> Receipt {
    tracing::error!(%error, "a press could not be looked up");
    let sentence = match error.is_of_a_row() {
        true => DAMAGED,
        false => "This could not be recorded; nothing changed. Try again.",
    };
    receipt(Outcome::Fault, sentence)
}

fn receipt_of(reply: Reply, origin: Origin<'_>) -> Receipt {
    let outcome = match reply.told {
        Told::Applied => Outcome::Applied,
        Told::Noted | Told::Unfit => Outcome::Noted,
        Told::TextWanted => Outcome::TextWanted,
        Told::Already => Outcome::AlreadyAnswered,
        Told::Expired => Outcome::Expired,
        Told::Cancelled => Outcome::Cancelled,
        Told::NotAllowed => Outcome::NotAllowed,
        Told::Unknown => Outcome::Unknown,
        Told::Fault => Outcome::Fault,
    };
    let card = reply.ask.map(|ask| card::draw(&ask, origin));
    // The redrawn card says it all; words for every toggle would pile up.
    let sentence = if reply.told == Told::Noted { "" } else { &reply.sentence };
    Receipt { card, ..receipt(outcome, sentence) }
}

/// A presser's name as it is noted, told and shown: people choose their own, line breaks and all.
fn known_as(name: &str) -> String {
    let name: String = line(name).chars().take(NAME).collect();
    if name.trim().is_empty() { "somebody without a name".to_owned() } else { name }
}

fn receipt(outcome: Outcome, sentence: &str) -> Receipt {
    let sentence = line(sentence);
    let short = sentence.chars().count() <= SENTENCE;
    let sentence =
        if short { sentence } else { sentence.chars().take(SENTENCE - 1).chain(['…']).collect() };
    Receipt { outcome, sentence, card: None }
}
