//! Text from agents, made fit to be shown.

/// Makes characters visible that would hide, reorder or fake text: controls, bidi marks, zero-width and
/// other invisible characters become `\u{…}`; tab and newline stay.
///
/// ```
/// assert_eq!(countersign_port::visible("ls \u{202e}fdp"), "ls \\u{202e}fdp");
/// ```
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// A text cut to a budget, in the open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The beginning, or all of it.
    pub head: String,
    /// The end, when something in between is left out: the dangerous part likes the tail.
    pub tail: Option<String>,
    /// How many characters are left out.
    pub hidden: usize,
}

/// Cuts `text` to at most `budget` characters, keeping the head and the tail. Where `hidden` is not 0
/// the caller must say so and carry the whole text as a file.
#[must_use]
pub fn excerpt(text: &str, budget: usize) -> Excerpt {
    let count = text.chars().count();
    if count <= budget {
        return Excerpt { head: text.to_owned(), tail: None, hidden: 0 };
    }
    let tail_len = budget / 3;
    let head_len = budget - tail_len;
    Excerpt {
        head: text.chars().take(head_len).collect(),
        tail: Some(text.chars().skip(count - tail_len).collect()),
        hidden: count - budget,
    }
}

/// Whether a character hides, reorders or imitates. Letters, marks and emoji of any script are plain.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{34f}'
        | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_and_bidi_characters_become_visible() {
        assert_eq!(visible("a\u{200b}b\r\u{0}\u{2066}"), "a\\u{200b}b\\u{d}\\u{0}\\u{2066}");
    }

    #[test]
    fn plain_text_tabs_newlines_and_emoji_stay() {
        assert_eq!(visible("é\t日\n👍🏽 ⚠\u{fe0f}"), "é\t日\n👍🏽 ⚠\u{fe0f}");
    }

    #[test]
    fn an_excerpt_keeps_head_and_tail_and_counts_what_it_hides() {
        assert_eq!(
            excerpt("abcdefghij", 6),
            Excerpt { head: "abcd".into(), tail: Some("ij".into()), hidden: 4 }
        );
        assert_eq!(excerpt("abc", 3), Excerpt { head: "abc".into(), tail: None, hidden: 0 });
    }
}
