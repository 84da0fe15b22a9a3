//! What pressers are told, as receipts.

use super::super::{
    card::{self, Origin},
    told::outcome,
};
use countersign_gate::{Reply, Told, fault_sentence};
use countersign_port::line;
use countersign_port::{CommandReply, Outcome, Receipt, ReplyPiece};
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

/// Whether words mean yes to most readers. A reply denies, so such words are asked about.
pub(super) fn reads_like_yes(text: &str) -> bool {
    let plain: String =
        text.chars().filter(|char| char.is_alphanumeric() || *char == ' ').collect();
    let words: Vec<String> = plain.split_whitespace().map(str::to_lowercase).collect();
    let yes = |word: &String| YES.contains(&word.as_str());
    match words.as_slice() {
        // Signs alone, such as a thumb.
        [] => !text.trim().is_empty(),
        // Of a longer sentence the beginning says nothing: "ok, but not on a Friday".
        words => {
            words.len() <= 4
                && words.first().is_some_and(yes)
                && !words.iter().any(|word| is_no(word))
        }
    }
}

fn is_no(word: &str) -> bool {
    ["no", "not", "but", "dont", "never", "stop", "deny", "later"].contains(&word)
}

const YES: &[&str] = &[
    "ok",
    "okay",
    "k",
    "kk",
    "y",
    "yes",
    "yep",
    "yeah",
    "yup",
    "sure",
    "fine",
    "good",
    "great",
    "go",
    "do",
    "proceed",
    "continue",
    "approve",
    "approved",
    "accept",
    "accepted",
    "allow",
    "allowed",
    "agreed",
    "confirm",
    "confirmed",
    "lgtm",
    "ship",
    "please",
    "right",
    "correct",
    "ja",
    "oui",
    "si",
    "sí",
    "sim",
    "da",
    "да",
    "hai",
    "はい",
    "好",
    "是",
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_reads_like_a_yes_is_known_and_a_reason_is_not_taken_for_one() {
        for yes in ["ok", "OK!", "yes please", "Go ahead.", "do it", "👍", "lgtm", "sí", "Approve"]
        {
            assert!(reads_like_yes(yes), "{yes}");
        }
        for no in [
            "no",
            "not now",
            "ok, but not on a Friday",
            "use --dry-run first",
            "yes, after the tests have passed on main",
            "do not",
            "",
        ] {
            assert!(!reads_like_yes(no), "{no}");
        }
    }
}
