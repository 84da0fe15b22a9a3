//! What a person's words at a card mean. Pure.

use countersign_gate::ask::Ask;
use countersign_people::answer::{Action, TextPurpose};

/// A plain reply to the card of this ask: the answer to its question, or why it is denied.
// FAIL-CLOSED: words alone never approve anything.
pub(crate) fn said(ask: &Ask, text: String) -> Action {
    match ask.is_question() {
        true => Action::Text { question: ask.progress.current(), text: Some(text) },
        false => Action::Words { wanted: TextPurpose::Reason, text: Some(text) },
    }
}

/// The first word, and what follows it.
pub(super) fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_first_word_and_what_was_written_behind_it() {
        assert_eq!(first_word(" a7f3  not\nnow "), ("a7f3", "not\nnow"));
        assert_eq!(first_word("a7f3"), ("a7f3", ""));
        assert_eq!(first_word("  "), ("", ""));
    }
}
