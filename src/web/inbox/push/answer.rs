//! Answering from a notification, without a page: what a message carries for it, and what of it counts.
//
// SECURITY: the worker that shows notifications holds no key of a page. A message, which only its browser
// can read, carries for each answer a proof over the card as it was told of, the answer and the browser. It
// opens nothing else, and nothing after the card has changed, its ask is closed or the daemon started again.
// What another program has left at the port in the worker's place gets such messages too: so they deny
// only, unless nobody else can have had the port; and they never approve what one line does not say whole.

use crate::{
    error::ApiError,
    inbox::{
        InboxState, Shared,
        guard::Visitor,
        press::{PressBody, Told, hand_over},
        proof,
        push::{Push, off},
        session::same,
        sign_in::{from_our_page, random},
    },
    request::{JsonReply, Sent},
};
use axum::{Json, extract::State, http::HeaderMap};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_port::{Button, ButtonStyle, Card, Presser, Tone};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// An answer that a notification can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Act {
    Approve,
    Deny,
}

impl Act {
    fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        }
    }
}

/// Makes the proofs of one start, and checks them.
pub(super) struct Answers {
    /// `None` without randomness: nothing can be answered then.
    key: Option<String>,
    /// Whether nobody else can have had the port.
    approves: bool,
}

impl Answers {
    pub(super) fn new(approves: bool) -> Self {
        Self { key: random(), approves }
    }

    /// What a message of this card can answer, for all browsers.
    pub(super) fn offered(&self, card: &Card) -> Vec<Offer> {
        let digest = digest(card);
        let offer = |act: Act| {
            let label = self.button(card, act)?.label.clone();
            Some(Offer {
                act,
                label,
                lines: [act.name().to_owned(), card.id.clone(), digest.clone()],
            })
        };
        [Act::Approve, Act::Deny].into_iter().filter_map(offer).collect()
    }

    /// The same for the browser with this address, as its worker reads it.
    pub(super) fn of_browser(&self, offers: &[Offer], endpoint: &str) -> Value {
        let answer = |offer: &Offer| {
            let proof = self.proof(&offer.lines, endpoint)?;
            Some(json!({ "act": offer.act, "label": offer.label, "proof": proof }))
        };
        let answers: Vec<_> = offers.iter().filter_map(answer).collect();
        json!({ "browser": hash(endpoint), "all": answers })
    }

    /// The label of a denial alone, and the request that is one.
    pub(super) fn denial(
        &self,
        offers: &[Offer],
        card: &str,
        endpoint: &str,
    ) -> Option<(String, Value)> {
        let offer = offers.iter().find(|offer| offer.act == Act::Deny)?;
        let proof = self.proof(&offer.lines, endpoint)?;
        let browser = hash(endpoint);
        let request = json!({ "card": card, "act": offer.act, "browser": browser, "proof": proof });
        Some((offer.label.clone(), request))
    }

    fn button<'a>(&self, card: &'a Card, act: Act) -> Option<&'a Button> {
        let (may, style) = match act {
            Act::Approve => {
                (self.approves && card.whole && card.tone == Tone::Open, ButtonStyle::Approve)
            }
            Act::Deny => (card.tone.is_open(), ButtonStyle::Deny),
        };
        card.buttons.iter().flatten().find(|button| may && button.style == style)
    }

    fn proof(&self, [act, card, digest]: &[String; 3], endpoint: &str) -> Option<String> {
        proof::proof(self.key.as_deref()?, &["push", act, card, digest, endpoint])
    }
}

/// An answer that a message carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    act: Act,
    label: String,
    /// What is proved: the answer, the card, and how it looked.
    lines: [String; 3],
}

/// The card as a person was told of it.
fn digest(card: &Card) -> String {
    hash(&json!([card.title, card.origin, card.tone, card.whole, card.blocks]).to_string())
}

fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// What the worker sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    card: String,
    act: Act,
    browser: String,
    proof: String,
}

/// Takes an answer from a notification. One sentence for all that prove nothing (any more).
pub(super) async fn answer(
    State(inbox): Shared,
    headers: HeaderMap,
    body: Sent<Answered>,
) -> JsonReply<Told> {
    from_our_page(&inbox, &headers)?;
    if inbox.push.is_none() {
        return Err(off());
    }
    let (presser, press) = body.ok().and_then(|Json(it)| proven(&inbox, &it)).ok_or_else(|| {
        ApiError::forbidden("The request has changed or is over, so nothing was pressed. Open it.")
    })?;
    hand_over(&inbox, presser, press).await
}

/// Whose answer it is, and the button that it presses.
// FAIL-CLOSED: a person who may not answer any more, or whom nobody can ask about now, presses nothing.
fn proven(inbox: &InboxState, answered: &Answered) -> Option<(Presser, PressBody)> {
    let push = inbox.push.as_ref()?;
    let (endpoint, person) = told(push, answered)?;
    let card = inbox.board.card(&answered.card)?;
    let lines = [answered.act.name().to_owned(), card.id.clone(), digest(&card)];
    let right = push.answers.proof(&lines, &endpoint)?;
    let button = push.answers.button(&card, answered.act)?;
    let presser = match &person {
        None => Visitor::Nameless.presser(),
        Some(person) => inbox.people()?.person(person)?,
    };
    same(&right, &answered.proof).then(|| (presser, PressBody::of(&card.id, &button.token)))
}

/// Where an answer comes from that was told of there, and whose it is then.
// SECURITY: others can read what an ntfy server is told, so a denial is all that comes from there.
fn told(push: &Push, answered: &Answered) -> Option<(String, Option<String>)> {
    let is_it = |endpoint: &str| same(&hash(endpoint), &answered.browser);
    let all = push.subscribers.all();
    if let Some(browser) = all.into_iter().find(|one| is_it(&one.endpoint)) {
        return Some((browser.endpoint, browser.person));
    }
    let (ntfy, _) = push.ntfy.as_ref().filter(|_| answered.act == Act::Deny)?;
    let endpoint = ntfy.endpoint();
    is_it(&endpoint).then(|| (endpoint, ntfy.person.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_port_testkit::sample_card;

    fn acts(approves: bool, card: &Card) -> Vec<Act> {
        Answers::new(approves).offered(card).iter().map(|offer| offer.act).collect()
    }

    #[test]
    fn only_what_one_line_says_whole_is_approved_and_only_where_nobody_else_had_the_port() {
        let whole = Card { whole: true, ..sample_card("ls") };
        let critical = Card { tone: Tone::Critical, ..whole.clone() };
        let closed = Card { tone: Tone::Denied, ..whole.clone() };
        assert_eq!(acts(true, &whole), [Act::Approve, Act::Deny]);
        assert_eq!(acts(false, &whole), [Act::Deny]);
        assert_eq!(acts(true, &sample_card("ls")), [Act::Deny]);
        assert_eq!(acts(true, &critical), [Act::Deny]);
        assert_eq!(acts(true, &closed), []);
    }
}
