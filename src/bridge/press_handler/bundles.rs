//! Presses on bundles: one press that answers several asks, and the pages between.

use crate::{
    bundle,
    card::Origin,
    press_handler::{Input, NO_CARD, PressHandler, asked_back, receipt, receipt_of},
    token::{ButtonToken, Pressed},
    words::reads_like_yes,
};
use countersign_domain::{Ask, Scope};
use countersign_gate::{Reply, Told};
use countersign_people::answer::{Action, TextPurpose};
use countersign_port::{Card, MessageRef, Outcome, Presser, Receipt};
use countersign_store::{Bundle, BundleKey, StoreError};
use countersign_tokens::clock;
use futures::{StreamExt, stream};

/// So many answers are on their way to the store at once: they share its commits.
const AT_ONCE: usize = 16;
const ANSWERED: &str = "These requests are answered already.";
/// How long a bundle is left as it is while a person goes through it; milliseconds.
const READING_MS: i64 = 20_000;

impl PressHandler {
    /// Does what a button of a bundle says.
    // INVARIANT: a press answers only asks that its own revision of the bundle showed.
    // SECURITY: every answer goes through `Gate::answer`, which admits its presser each time.
    pub(super) async fn press_bundle(
        &self,
        pressed: Bundle,
        token: &ButtonToken,
        input: &Input,
    ) -> Result<Receipt, StoreError> {
        let store = self.store.id();
        let nonce = pressed.row.nonce.as_str();
        if let Some(card) = match token.pressed {
            Pressed::Page => Some(bundle::page(&pressed, token.step, store)),
            Pressed::Overview => Some(bundle::draw(&pressed, store)),
            _ => None,
        } {
            self.rest(nonce).await?;
            return Ok(with(Outcome::Noted, "", card));
        }
        let chosen = bundle::shown_by(&pressed, token.step);
        let [first, rest @ ..] = chosen.as_slice() else {
            return Ok(with(Outcome::AlreadyAnswered, ANSWERED, bundle::draw(&pressed, store)));
        };
        let approves = !matches!(
            token.pressed,
            Pressed::Deny | Pressed::DenyAnd(_) | Pressed::Words(TextPurpose::Reason)
        );
        if approves && !bundle::are_one(&chosen) {
            // FAIL-CLOSED: what one line cannot say is approved one by one.
            let sentence = "These requests differ, so they are not approved together: Review them.";
            return Ok(with(Outcome::Noted, sentence, bundle::draw(&pressed, store)));
        }
        let Some(action) = token.action(input.text.clone()) else {
            return Ok(receipt(Outcome::Unknown, "This button does nothing any more."));
        };
        let of = chosen.len();
        let others = rest.iter().map(|member| member.ask.clone()).collect();
        let (reply, applied, waits) =
            self.answer_all(first.ask.clone(), others, &input.presser, action).await;
        if !is_over(reply.told) {
            if reply.told == Told::TextWanted {
                self.owe(input, first.ask.id.clone()).await?;
            }
            let receipt = receipt_of(reply, Origin { nonce: &token.nonce, store });
            return Ok(Receipt { card: Some(bundle::draw(&pressed, store)), ..receipt });
        }
        let card = match self.bundle(input, token).await {
            Ok(now) => Some(bundle::draw(now.as_ref().unwrap_or(&pressed), store)),
            Err(error) => no_card(&error),
        };
        if of == 1 {
            return Ok(Receipt { card, ..receipt_of(reply, Origin::default()) });
        }
        let did = if approves { "Approved" } else { "Denied" };
        let plain = matches!(token.pressed, Pressed::Approve(Scope::Once) | Pressed::Deny);
        let sentence = match (waits, of - applied - waits) {
            (0, 0) if plain => format!("{did} {applied} requests."),
            (0, 0) => format!("{did} {applied} requests. {}", reply.sentence),
            (0, other) => format!("{did} {applied} requests; {other} had ended before."),
            (waits, _) => format!("{did} {applied} requests; {waits} did not take it: Review."),
        };
        let outcome = if applied > 0 { Outcome::Applied } else { Outcome::AlreadyAnswered };
        Ok(Receipt { card, ..receipt(outcome, &sentence) })
    }

    /// A reply to the message of a bundle: a denial of all its requests that people have seen, with
    /// these words. A bundle that was drawn in vain so far shows fewer than it has.
    // FAIL-CLOSED: words alone never approve anything.
    pub(super) async fn reply_to_bundle(
        &self,
        presser: &Presser,
        at: &MessageRef,
        text: String,
    ) -> Result<Receipt, StoreError> {
        let by = BundleKey::Message { adapter: self.adapter, message: &at.0 };
        let Some(bundle) = self.store.find_bundle(by).await? else {
            // People talk in the thread of a session, and mean no card.
            let talk = self.store.target_of_thread(self.adapter, &at.0).await?.is_some();
            return Ok(receipt(Outcome::Unknown, if talk { "" } else { NO_CARD }));
        };
        let seen = bundle.members.into_iter().filter(|it| it.seen && it.ask.is_open());
        let mut asks = seen.map(|member| member.ask);
        let Some(first) = asks.next() else {
            return Ok(receipt(Outcome::AlreadyAnswered, ANSWERED));
        };
        if reads_like_yes(&text) {
            return Ok(asked_back(self.gate.answer(first, self.who(presser), Action::Look).await));
        }
        let action = Action::Deny { reason: Some(text), then: None };
        let others: Vec<_> = asks.collect();
        let alone = others.is_empty();
        let (reply, applied, waits) = self.answer_all(first, others, presser, action).await;
        if !is_over(reply.told) || alone {
            return Ok(receipt_of(reply, Origin::default()));
        }
        let outcome = if applied > 0 { Outcome::Applied } else { Outcome::AlreadyAnswered };
        let but = if waits > 0 { format!(" {waits} still wait.") } else { String::new() };
        Ok(receipt(outcome, &format!("Denied {applied} requests with your words.{but}")))
    }

    /// Answers these asks alike: first one alone, which says whether its presser may, then the
    /// rest. The reply to it, to how many the answer applied, and how many did not take it and have
    /// not ended.
    async fn answer_all(
        &self,
        first: Ask,
        others: Vec<Ask>,
        presser: &Presser,
        action: Action,
    ) -> (Reply, usize, usize) {
        let who = self.who(presser);
        let reply = self.gate.answer(first, who.clone(), action.clone()).await;
        let mut told = vec![reply.told];
        if is_over(reply.told) {
            let answer = |ask| self.gate.answer(ask, who.clone(), once(&action));
            let replies = stream::iter(others).map(answer).buffer_unordered(AT_ONCE);
            told.extend(replies.map(|it| it.told).collect::<Vec<_>>().await);
        }
        let applied = told.iter().filter(|told| **told == Told::Applied).count();
        let waits = told.iter().filter(|told| !is_over(**told)).count();
        (reply, applied, waits)
    }

    /// The bundle that a token belongs to.
    pub(super) async fn bundle(
        &self,
        input: &Input,
        token: &ButtonToken,
    ) -> Result<Option<Bundle>, StoreError> {
        let message = input.message.as_ref().map(|message| message.0.as_str());
        let by = BundleKey::Nonce { adapter: self.adapter, nonce: &token.nonce, message };
        self.store.find_bundle(by).await
    }

    /// The receipt of a press on one request of a bundle: its message goes on to the next.
    // INVARIANT: a press that was recorded is told so, though what comes next cannot be read.
    pub(super) async fn go_on(
        &self,
        receipt: Receipt,
        input: &Input,
        token: &ButtonToken,
    ) -> Receipt {
        let (Some(message), Some(card)) = (input.message.as_ref(), receipt.card.clone()) else {
            return receipt;
        };
        let bundle = match self.bundle_of_part(&token.nonce, message).await {
            Ok(Some(bundle)) => bundle,
            Ok(None) => return receipt,
            Err(error) => return Receipt { card: no_card(&error), ..receipt },
        };
        if let Err(error) = self.rest(&bundle.row.nonce).await {
            return Receipt { card: no_card(&error), ..receipt };
        }
        let stays = matches!(receipt.outcome, Outcome::Noted | Outcome::TextWanted);
        let card = match stays && token.pressed != Pressed::Back {
            // A view of one of its requests, such as the choice behind *Always…*.
            true => bundle::view(&bundle, card),
            false => bundle::page(&bundle, bundle::place(&bundle, &token.nonce), self.store.id()),
        };
        Receipt { card: Some(card), ..receipt }
    }

    /// The bundle that holds this card, where its message shows it.
    pub(super) async fn bundle_of_part(
        &self,
        card: &str,
        message: &MessageRef,
    ) -> Result<Option<Bundle>, StoreError> {
        self.store.find_bundle(BundleKey::Card { card, message: &message.0 }).await
    }

    /// Lets the outbox leave a bundle as it is for a while.
    async fn rest(&self, nonce: &str) -> Result<(), StoreError> {
        self.store.bundle_rests(nonce, false, clock::now_ms() + READING_MS).await
    }
}

/// Whether an ask that was answered so has ended, now or before.
fn is_over(told: Told) -> bool {
    matches!(told, Told::Applied | Told::Already | Told::Expired | Told::Cancelled)
}

/// The same for the others: one of them remembers what is to be remembered.
fn once(action: &Action) -> Action {
    match action {
        Action::Approve { .. } => Action::Approve { scope: Scope::Once },
        other => other.clone(),
    }
}

/// Leaves the message to the outbox, which redraws it once the store can be read again.
fn no_card(error: &StoreError) -> Option<Card> {
    tracing::warn!(%error, "a message is redrawn later: what it shows next cannot be read");
    None
}

fn with(outcome: Outcome, sentence: &str, card: Card) -> Receipt {
    Receipt { card: Some(card), ..receipt(outcome, sentence) }
}
