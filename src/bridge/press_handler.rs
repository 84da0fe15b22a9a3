//! What the core does with what people do to the cards of one adapter.

mod bundles;

use crate::{
    adapters::Adapters,
    bundle,
    card::{self, Origin},
    commands::{COMMANDS, CommandRun},
    token::{ButtonToken, Pressed},
    words::{reads_like_yes, reply_action},
};
use countersign_domain::wire::PairingSender;
use countersign_gate::{
    CodeOutcome, Gate, Reply, Told,
    ask::{Ask, edit::editable},
    fault_sentence,
};
use countersign_people::{
    answer::{Action, TextPurpose},
    approvers::Who,
};
use countersign_port::{
    BotCommand, Card, CommandCall, CommandReply, MessageRef, Outcome, PairingMessage, Press,
    Presser, Presses, Receipt, ReplyPiece, Target, TextReply, UNKNOWN_CODE, async_trait,
    command_in, cut, line, locked, visible,
};
use countersign_store::{BundleKey, OwedText, Store, StoreError};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;

/// What is told of a card that another store holds.
const FOREIGN: &str = "This card belongs to another countersign that uses the same bot, so nothing \
                       changed. Press again; if this comes back, tell the person who runs the bot.";
/// What is told of a press that would approve a critical call at once.
const CRITICAL: &str = "This is critical, so one press does not approve it. Read the card again, \
                        then press Yes.";
/// What is told of a press that leads towards an approval while everything is paused.
const PAUSED: &str = "Everything is paused: only a denial counts until /resume.";
/// What is kept of a presser's name, in characters.
const NAME: usize = 64;

/// What is told of a text that belongs to no card.
const NO_CARD: &str =
    "This is not a reply to a card, so nothing changed. /help lists what I understand.";

/// The core, as one adapter sees it.
// INVARIANT: it alone says which platform a press comes from. An adapter cannot.
#[derive(Debug)]
pub struct PressHandler {
    adapter: &'static str,
    gate: Arc<Gate>,
    store: Store,
    /// All adapters of the daemon, for what is told of them.
    adapters: Adapters,
    foreign: Mutex<ForeignStores>,
}

/// What somebody did to a card.
struct Input {
    presser: Presser,
    message: Option<MessageRef>,
    token: String,
    text: Option<String>,
    /// The tokens of the options that were ticked, where the platform kept them until now.
    chosen: Option<Vec<String>>,
}

impl PressHandler {
    /// For the adapter of this name, in front of this gate and the store of its cards.
    #[must_use]
    pub fn new(
        adapter: &'static str,
        gate: Arc<Gate>,
        store: Store,
        adapters: Adapters,
    ) -> Arc<Self> {
        Arc::new(Self { adapter, gate, store, adapters, foreign: Mutex::default() })
    }

    /// The ask whose card this belongs to; `None` for forged, foreign and forgotten ones.
    // SECURITY: the nonce is 128 random bits, and a message that holds another card vouches for
    // that card only. A message that we do not know is a copy whose sending we could not confirm.
    async fn ask(&self, input: &Input, token: &ButtonToken) -> Result<Option<Ask>, StoreError> {
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
        let Some(token) = ButtonToken::read(&input.token) else { return Ok(unknown()) };
        // SECURITY: the nonce alone leads to a card. A token that says it is another store's is
        // never looked up: at best another daemon wrote it, and forging one gains nothing.
        if token.store != self.store.id() {
            let mut foreign = locked(&self.foreign);
            foreign.note(self.adapter, &token.store);
            return Ok(receipt(Outcome::Unknown, FOREIGN));
        }
        let Some(ask) = self.ask(&input, &token).await? else {
            return match self.bundle(&input, &token).await? {
                Some(bundle) => self.press_bundle(bundle, &token, &input).await,
                None => Ok(unknown()),
            };
        };
        let action = match &input.chosen {
            None => token.action(input.text.clone()),
            Some(chosen) => token.submits(chosen),
        };
        let Some(action) = action else { return Ok(unknown()) };
        let id = ask.id.clone();
        // SECURITY: no single press approves what is critical, whatever button a forged token
        // names: it leads to the second step too.
        let approves = ask.body.critical
            && matches!(
                token.pressed,
                Pressed::Approve(_) | Pressed::StoreParts(_) | Pressed::Words(TextPurpose::Note)
            );
        let reviews = approves || token.pressed == Pressed::Review;
        let action = if approves { Action::Look } else { action };
        let reply = self.gate.answer(ask, self.who(&input.presser), action).await;
        if reply.told == Told::TextWanted {
            self.owe(&input, id).await?;
        }
        let origin = self.origin(&token.nonce);
        if let (Told::Noted, Some(ask), Pressed::ChooseParts(chosen)) =
            (reply.told, &reply.ask, token.pressed)
        {
            let card = Some(card::choice(ask, origin, chosen));
            let words = if ask.stopped.is_some() { PAUSED } else { "" };
            let receipt = Receipt { card, ..receipt(Outcome::Noted, words) };
            return Ok(self.go_on(receipt, &input, &token).await);
        }
        let view = reply.ask.clone().filter(|ask| reviews && ask.is_open());
        let mut receipt = receipt_of(reply, origin);
        if let Some(ask) = view {
            receipt.card = Some(card::review(&ask, origin));
            let words = match ask.stopped {
                Some(_) => PAUSED,
                None if approves => CRITICAL,
                None => "",
            };
            receipt.sentence = words.to_owned();
        }
        Ok(self.go_on(receipt, &input, &token).await)
    }

    /// Notes that a text is owed before its presser is asked for it: a restart in between loses
    /// nothing.
    async fn owe(&self, input: &Input, ask: String) -> Result<(), StoreError> {
        let Some(MessageRef(message)) = input.message.clone() else { return Ok(()) };
        let presser = input.presser.id.clone();
        let token = input.token.clone();
        let owed = OwedText { adapter: self.adapter.to_owned(), message, presser, token, ask };
        self.store.owe_text(&owed).await
    }

    /// A reply to a card for which nobody was asked: the answer to its question, or a denial with
    /// these words as the reason.
    // FAIL-CLOSED: words alone never approve anything.
    async fn plain_reply(
        &self,
        presser: Presser,
        at: MessageRef,
        text: String,
    ) -> Result<Receipt, StoreError> {
        if let Some((name, rest)) = command_in(&text, COMMANDS) {
            let name = name.to_owned();
            let rest = rest.to_owned();
            let call = CommandCall { presser, targets: Vec::new(), message: Some(at), name, rest };
            return Ok(in_one_sentence(&self.take_command(call).await?));
        }
        let Some((nonce, ask)) = self.store.ask_at(self.adapter, &at.0).await? else {
            return self.reply_to_bundle(&presser, &at, text).await;
        };
        if !ask.is_question() && reads_like_yes(&text) {
            let reply = self.gate.answer(ask, self.who(&presser), Action::Look).await;
            return Ok(asked_back(reply));
        }
        let reply =
            self.gate.answer(ask.clone(), self.who(&presser), reply_action(&ask, text)).await;
        Ok(receipt_of(reply, self.origin(&nonce)))
    }

    async fn take_command(&self, call: CommandCall) -> Result<CommandReply, StoreError> {
        let who = self.who(&call.presser);
        let Self { gate, store, adapters, .. } = self;
        CommandRun { gate, store, adapters, who }.run(&call).await
    }

    pub(super) fn who(&self, presser: &Presser) -> Who {
        Who {
            platform: self.adapter,
            id: presser.id.clone(),
            name: known_as(&presser.name),
            roles: presser.roles.clone(),
        }
    }

    async fn read(&self, id: &str, at: Option<&MessageRef>) -> Result<Option<Card>, StoreError> {
        if let Some(at) = at
            && let Some(bundle) = self.bundle_of_part(id, at).await?
        {
            return Ok(Some(bundle::page(&bundle, bundle::place(&bundle, id), self.store.id())));
        }
        if let Some(ask) = self.store.ask_of_card(id, self.adapter, None).await? {
            return Ok(Some(card::draw(&ask, self.origin(id))));
        }
        let by = BundleKey::Nonce { adapter: self.adapter, nonce: id, message: None };
        let bundle = self.store.find_bundle(by).await?;
        Ok(bundle.map(|bundle| bundle::draw(&bundle, self.store.id())))
    }

    async fn take_text(&self, reply: TextReply) -> Result<Receipt, StoreError> {
        let TextReply { presser, message, token, text } = reply;
        let store = &self.store;
        if let Some(token) = token {
            let text = Some(text);
            return self.answer(Input { presser, message, token, text, chosen: None }).await;
        }
        // FAIL-CLOSED: an ordinary message is never an answer.
        let Some(at) = message.clone() else { return Ok(receipt(Outcome::Unknown, NO_CARD)) };
        let id = presser.id.clone();
        let Some(token) = store.owed_text(self.adapter, &at.0, &id).await? else {
            return self.plain_reply(presser, at, text).await;
        };
        let text = Some(text);
        let input = Input { presser, message, token: token.clone(), text, chosen: None };
        let receipt = self.answer(input).await?;
        if matches!(receipt.outcome, Outcome::Applied | Outcome::Noted)
            && let Err(error) = store.text_given(self.adapter, &at.0, &id, &token).await
        {
            tracing::warn!(%error, "a text that was given still counts as owed");
        }
        Ok(receipt)
    }
}

#[async_trait]
impl Presses for PressHandler {
    fn roles(&self) -> Vec<String> {
        self.gate.choices().approvers.roles_on(self.adapter)
    }

    async fn press(&self, press: Press) -> Receipt {
        let Press { presser, message, token } = press;
        let input = Input { presser, message, token, text: None, chosen: None };
        self.answer(input).await.unwrap_or_else(|error| fault(&error))
    }

    async fn press_with(&self, press: Press, chosen: Vec<String>) -> Receipt {
        let Press { presser, message, token } = press;
        let input = Input { presser, message, token, text: None, chosen: Some(chosen) };
        self.answer(input).await.unwrap_or_else(|error| fault(&error))
    }

    async fn reply(&self, reply: TextReply) -> Receipt {
        self.take_text(reply).await.unwrap_or_else(|error| fault(&error))
    }

    async fn draft(&self, press: &Press) -> Option<String> {
        let token = ButtonToken::read(&press.token)?;
        let message = press.message.as_ref().map(|message| message.0.as_str());
        let edits = token.pressed == Pressed::Words(TextPurpose::Edit);
        let ours = token.store == self.store.id();
        let found = self.store.ask_of_card(&token.nonce, self.adapter, message).await;
        let ask = found.ok()?.filter(|ask| edits && ours && ask.is_open())?;
        let text = editable(&ask.body.call)?;
        // SECURITY: what a field would not show is not handed back as the presser's own words.
        (visible(text) == text).then(|| text.to_owned())
    }

    fn commands(&self) -> &'static [BotCommand] {
        COMMANDS
    }

    async fn command(&self, call: CommandCall) -> CommandReply {
        self.take_command(call).await.unwrap_or_else(|error| {
            let Receipt { outcome, sentence, .. } = fault(&error);
            CommandReply::words(outcome, sentence)
        })
    }

    async fn pair(&self, sent: PairingMessage) -> Receipt {
        let who = self.who(&sent.presser);
        take_pairing_code(&self.gate, who, sent)
    }

    fn greeting(&self, presser: &Presser, target: &Target) -> Option<String> {
        let shows = self.gate.shows_at(self.adapter, &target.0);
        (shows && self.gate.admit(self.who(presser)).is_ok()).then(|| CONNECTED.to_owned())
    }

    async fn card(&self, id: &str, at: Option<&MessageRef>) -> Option<Card> {
        let card = self.read(id, at).await;
        card.inspect_err(|error| tracing::warn!(%error, "a card cannot be read")).ok()?
    }
}

/// A presser's name as it is noted, told and shown: people choose their own, line breaks and all.
fn known_as(name: &str) -> String {
    let name: String = line(name).chars().take(NAME).collect();
    if name.trim().is_empty() { "somebody without a name".to_owned() } else { name }
}

/// The longest sentence that every platform shows to a presser.
const SENTENCE: usize = 190;

pub(super) fn fault(error: &StoreError) -> Receipt {
    tracing::error!(%error, "a press could not be looked up");
    receipt(Outcome::Fault, fault_sentence(error))
}

pub(super) fn receipt_of(reply: Reply, origin: Origin<'_>) -> Receipt {
    let outcome = outcome(reply.told);
    let card = reply.ask.map(|ask| card::draw(&ask, origin));
    // The redrawn card says it all; words for every toggle would pile up.
    let sentence = if reply.told == Told::Noted { "" } else { &reply.sentence };
    Receipt { card, ..receipt(outcome, sentence) }
}

/// What a reply that reads like a yes is told: nothing changed, and how to say what was meant.
// FAIL-CLOSED: words alone never approve, and what may have been a yes does not deny either.
pub(super) fn asked_back(reply: Reply) -> Receipt {
    match reply.told {
        Told::Noted => receipt(Outcome::Noted, ASKED_BACK),
        _ => Receipt { card: None, ..receipt_of(reply, Origin::default()) },
    }
}

const ASKED_BACK: &str = "Nothing changed. A reply never approves: press Approve on the card. To deny \
    with a reason, reply with the reason.";

/// What a command says, where only a sentence can be told.
fn in_one_sentence(reply: &CommandReply) -> Receipt {
    let words = |line: &Vec<_>| line.iter().map(ReplyPiece::plain).collect::<String>();
    let lines = reply.lines.iter().map(words);
    receipt(reply.outcome, &lines.collect::<Vec<_>>().join(" "))
}

pub(super) fn receipt(outcome: Outcome, sentence: &str) -> Receipt {
    Receipt { outcome, sentence: cut(&line(sentence), SENTENCE), card: None }
}

/// What is told of a code that works.
const CODE_ARRIVED: &str = "Your code has arrived. Now confirm it in the terminal: nothing may be \
                       answered from here before that.";
/// What is told to an approver who greets the bot.
const CONNECTED: &str = "Connected: requests come here, and you may answer them. /help lists all \
                         commands.";
/// What is kept of a place's name, in characters.
const PLACE: usize = 100;

/// Takes a pairing code of somebody; what to tell them.
// SECURITY: what becomes of it is decided in the terminal; here nothing is granted.
fn take_pairing_code(gate: &Gate, who: Who, sent: PairingMessage) -> Receipt {
    let PairingMessage { target, place, code, .. } = sent;
    let Who { platform, id, name, .. } = who;
    let place = line(&place).chars().take(PLACE).collect();
    let by = PairingSender { id: id.clone(), name, target: target.0, place };
    match gate.pairings.take_code(platform, &code, by) {
        CodeOutcome::Bound => {
            tracing::info!(platform, presser = id, "somebody sent a pairing code");
            receipt(Outcome::Noted, CODE_ARRIVED)
        }
        CodeOutcome::Refused => {
            tracing::warn!(platform, presser = id, "somebody sent a pairing code that is refused");
            receipt(Outcome::Unknown, UNKNOWN_CODE)
        }
    }
}

/// What the gate says of an attempt to answer, in the adapters' words.
pub(super) fn outcome(told: Told) -> Outcome {
    match told {
        Told::Applied => Outcome::Applied,
        Told::Noted | Told::Voted | Told::Unfit => Outcome::Noted,
        Told::TextWanted => Outcome::TextWanted,
        Told::Already => Outcome::AlreadyAnswered,
        Told::Expired => Outcome::Expired,
        Told::Cancelled => Outcome::Cancelled,
        Told::NotAllowed => Outcome::NotAllowed,
        Told::Unknown => Outcome::Unknown,
        Told::Fault => Outcome::Fault,
    }
}

/// How many stores are named in the log within [`NEWS_AGAIN`]: anybody in a chat can forge the id
/// of one.
const MOST_STORES: usize = 16;
/// After this a store is named anew.
const NEWS_AGAIN: Duration = Duration::from_secs(3600);

/// The other stores whose cards were pressed lately: another countersign, with a store of its own,
/// has the same bot.
#[derive(Debug, Default)]
struct ForeignStores {
    since: Option<Instant>,
    stores: BTreeSet<String>,
}

impl ForeignStores {
    /// Takes note of a press on a card of this store, and logs how to fix it where that is news.
    fn note(&mut self, adapter: &'static str, store: &str) {
        if self.takes(store, Instant::now()) {
            tracing::warn!(
                adapter,
                store,
                "a press on a card of another store: two countersigns use one bot, so presses \
                 reach the wrong one. Give each a bot of its own, or one store for all \
                 (docs/team.md). If there is only this one, the card is older than its store"
            );
        } else {
            tracing::debug!(adapter, store, "one more press on a card of another store");
        }
    }

    /// Whether this store is news.
    fn takes(&mut self, store: &str, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= NEWS_AGAIN) {
            *self = Self { since: Some(now), stores: BTreeSet::new() };
        }
        self.stores.len() < MOST_STORES && self.stores.insert(store.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_news_once_an_hour_and_forged_ones_are_not_without_end() {
        let mut seen = ForeignStores::default();
        let begin = Instant::now();
        assert!(seen.takes("k8xd8s4n", begin));
        assert!(!seen.takes("k8xd8s4n", begin));
        let forged = (0..1000).filter(|at| seen.takes(&format!("{at:08}"), begin)).count();
        assert_eq!((forged, seen.stores.len()), (MOST_STORES - 1, MOST_STORES));
        assert!(!seen.takes("k8xd8s4n", begin + NEWS_AGAIN - Duration::from_secs(1)));
        assert!(seen.takes("k8xd8s4n", begin + NEWS_AGAIN));
    }
}
