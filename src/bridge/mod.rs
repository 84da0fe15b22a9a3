//! The bridge: asks become cards, cards go out through adapters, presses come back as answers.
//!
//! It knows adapters only through their contract, and decides nothing: the gate does.

pub mod card;
mod foreign;
mod hearing;
mod outage;
mod outbox;
mod term;
mod token;
#[cfg(test)]
pub(crate) mod weather;

pub use hearing::{Surfaces, lasting, notices, tell_notices};
pub use outbox::deliver;
pub use term::Term;

use crate::{
    gate::{DAMAGED, Gate, Reply, Told, approvers::Who, ask::Ask},
    store::StoreError,
    text::line,
};
use card::Origin;
use countersign_port::{Card, Outcome, Press, Presses, Receipt};
use foreign::Foreign;
use std::sync::Arc;
use token::Token;

/// The longest sentence that every platform shows to a presser.
const SENTENCE: usize = 190;
/// What is told of a card that another store holds.
const FOREIGN: &str = "This card belongs to another countersign that uses the same bot, so nothing \
                       changed. Press again; if this comes back, tell whoever runs the bot.";
/// What is kept of a presser's name, in characters.
const NAME: usize = 64;

/// The core, as adapters see it.
#[derive(Debug)]
pub struct Desk {
    gate: Arc<Gate>,
    foreign: Foreign,
}

impl Desk {
    /// A desk in front of this gate.
    #[must_use]
    pub fn new(gate: Arc<Gate>) -> Arc<Self> {
        Arc::new(Self { gate, foreign: Foreign::default() })
    }

    /// The ask whose card this press belongs to; `None` for forged, foreign and forgotten ones.
    // SECURITY: the nonce is 128 random bits, and a message that holds another card vouches for
    // that card only. A message that we do not know is a copy whose sending we could not confirm.
    async fn ask(&self, press: &Press, token: &Token) -> Result<Option<Ask>, StoreError> {
        let message = press.message.as_ref().map(|message| message.0.as_str());
        self.gate.store().ask_of_card(&token.nonce, press.adapter, message).await
    }

    fn origin<'a>(&'a self, nonce: &'a str) -> Origin<'a> {
        Origin { nonce, store: self.gate.store().id() }
    }

    async fn answer(&self, press: Press) -> Result<Receipt, StoreError> {
        let unknown = || {
            tracing::warn!(adapter = press.adapter, presser = %press.presser.id,
                "a press that belongs to no card");
            receipt(Outcome::Unknown, "This button no longer belongs to anything pending.")
        };
        let Some(token) = Token::read(&press.token) else { return Ok(unknown()) };
        // SECURITY: the nonce alone leads to a card. A token that says it is another store's is
        // never looked up: at best another daemon wrote it, and forging one gains nothing.
        if let Some(store) = token.store.as_deref().filter(|it| *it != self.gate.store().id()) {
            self.foreign.note(press.adapter, store);
            return Ok(receipt(Outcome::Unknown, FOREIGN));
        }
        let Some(ask) = self.ask(&press, &token).await? else { return Ok(unknown()) };
        let who = Who {
            platform: press.adapter,
            id: press.presser.id,
            name: known_as(&press.presser.name),
            roles: press.presser.roles,
        };
        let reply = self.gate.answer(ask, who, token.action(press.text)).await;
        Ok(said(reply, self.origin(&token.nonce)))
    }
}

#[countersign_port::async_trait]
impl Presses for Desk {
    async fn press(&self, press: Press) -> Receipt {
        match self.answer(press).await {
            Ok(receipt) => receipt,
            Err(error) => {
                tracing::error!(%error, "a press could not be looked up");
                let sentence = match error.is_of_a_row() {
                    true => DAMAGED,
                    false => "This could not be recorded; nothing changed. Try again.",
                };
                receipt(Outcome::Fault, sentence)
            }
        }
    }

    async fn card(&self, adapter: &'static str, id: &str) -> Option<Card> {
        let ask = self.gate.store().ask_of_card(id, adapter, None).await;
        let ask = ask.inspect_err(|error| tracing::warn!(%error, "a card cannot be read")).ok()?;
        ask.map(|ask| card::draw(&ask, self.origin(id)))
    }
}

fn said(reply: Reply, origin: Origin<'_>) -> Receipt {
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
