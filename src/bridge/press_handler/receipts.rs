//! What pressers are told, as receipts.

use super::super::{
    card::{self, Origin},
    told::outcome,
};
use countersign_gate::{Reply, Told, fault_sentence};
use countersign_port::{CommandReply, Outcome, Receipt, ReplyPiece, line};
use countersign_store::StoreError;

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
pub(super) fn in_one_sentence(reply: &CommandReply) -> Receipt {
    let words = |piece: &ReplyPiece| match piece {
        ReplyPiece::Words(words) | ReplyPiece::Literal(words) => words.clone(),
    };
    let lines = reply.lines.iter().map(|line| line.iter().map(words).collect::<String>());
    receipt(reply.outcome, &lines.collect::<Vec<_>>().join(" "))
}

pub(super) fn receipt(outcome: Outcome, sentence: &str) -> Receipt {
    let sentence = line(sentence);
    let short = sentence.chars().count() <= SENTENCE;
    let sentence =
        if short { sentence } else { sentence.chars().take(SENTENCE - 1).chain(['…']).collect() };
    Receipt { outcome, sentence, card: None }
}
