//! What a person's words at a card mean. Pure.

use countersign_gate::ask::Ask;
use countersign_people::answer::{Action, TextPurpose};

/// A plain reply to the card of this ask: the answer to its question, or why it is denied.
// FAIL-CLOSED: words alone never approve anything.
pub(crate) fn reply_action(ask: &Ask, text: String) -> Action {
    if ask.is_question() {
        Action::Text { question: ask.progress.current(), text: Some(text) }
    } else {
        Action::Words { wanted: TextPurpose::Reason, text: Some(text) }
    }
}

/// Whether words mean yes to most readers. A reply denies, so such words are asked about.
pub(crate) fn reads_like_yes(text: &str) -> bool {
    let plain: String =
        text.chars().filter(|char| char.is_alphanumeric() || *char == ' ').collect();
    let words: Vec<String> = plain.split_whitespace().map(str::to_lowercase).collect();
    let yes = |word: &String| YES.split(' ').any(|yes| yes == word);
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

/// Words that mean yes, or begin a sentence that does.
const YES: &str = "ok okay k kk y yes yep yeah yup sure fine good great go do proceed \
                   continue approve approved accept accepted allow allowed agreed confirm \
                   confirmed lgtm ship please right correct ja oui si sí sim da да hai はい 好 是";

/// The first word, and what follows it.
pub(crate) fn first_word(text: &str) -> (&str, &str) {
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
