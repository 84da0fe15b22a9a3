//! Texts cut to a number of characters, in the open.

use countersign_port::{Excerpt, excerpt, visible};

/// The text made visible and cut so that at most `room` characters are left; `hidden` counts the
/// text's own characters.
pub(crate) fn fit(text: &str, room: usize) -> Excerpt {
    let mut budget = room;
    loop {
        let cut = excerpt(text, budget);
        let (head, tail) = (visible(&cut.head), cut.tail.as_deref().map(visible));
        let length = head.chars().count() + tail.iter().flat_map(|tail| tail.chars()).count();
        if length <= room || budget == 0 {
            return Excerpt { head, tail, hidden: cut.hidden };
        }
        // Escapes are at most 10 characters for one, so this comes close fast and never below.
        budget = (budget * room / length).min(budget - 1);
    }
}

/// Made visible, on one line, cut with an ellipsis: for the bridge's own short words.
pub(crate) fn short(text: &str, budget: usize) -> String {
    let text = visible(text);
    if text.chars().count() <= budget {
        return text;
    }
    text.chars().take(budget.saturating_sub(1)).chain(['…']).collect()
}

/// Made visible; where it is cut, head and tail stay and the number of missing characters is said.
pub(crate) fn openly_cut(text: &str, budget: usize) -> String {
    let shown = fit(text, budget);
    if shown.hidden == 0 {
        return shown.head;
    }
    let Some(room) = budget.checked_sub(30) else { return String::new() };
    let shown = fit(text, room);
    format!("{}… ({} more) …{}", shown.head, shown.hidden, shown.tail.unwrap_or_default())
}

/// Runs of white space become one blank.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_counts_the_text_s_own_characters_not_their_escapes() {
        let cut = fit(&"\u{0}".repeat(100), 50);
        let shown = cut.head + &cut.tail.unwrap_or_default();
        assert_eq!(shown, "\\u{0}".repeat(100 - cut.hidden));
        assert!((45..=50).contains(&shown.chars().count()), "{shown}");
    }

    #[test]
    fn what_fits_is_not_cut() {
        let whole = Excerpt { head: "a\\u{200b}".into(), tail: None, hidden: 0 };
        assert_eq!(fit("a\u{200b}", 9), whole);
        assert_eq!(openly_cut("abc", 3), "abc");
        assert_eq!(short("abc", 3), "abc");
    }

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(short("abcd", 3), "ab…");
        let cut = openly_cut(&"x".repeat(100), 60);
        assert_eq!(cut, format!("{}… (70 more) …{}", "x".repeat(20), "x".repeat(10)));
    }
}
