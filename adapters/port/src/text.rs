//! Text from agents, cut in the open.

use crate::visible::leans;

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

/// Cuts `text` to at most `budget` characters, keeping the head and the tail. Where `hidden` is not
/// 0 the caller must say so and carry the whole text as a file.
#[must_use]
pub fn excerpt(text: &str, budget: usize) -> Excerpt {
    let count = text.chars().count();
    if count <= budget {
        return Excerpt { head: text.to_owned(), tail: None, hidden: 0 };
    }
    let tail_len = budget / 3;
    let head_len = budget - tail_len;
    // Only the ends are walked: renderers try many budgets on texts of a megabyte.
    let mut starts = text.char_indices().map(|(at, _)| at);
    let head_end = starts.nth(head_len).unwrap_or(text.len());
    let mut starts = text.char_indices().map(|(at, _)| at).rev();
    let tail_start = tail_len.checked_sub(1).and_then(|last| starts.nth(last));
    let head = text.get(..head_end).unwrap_or(text);
    let tail = text.get(tail_start.unwrap_or(text.len())..).unwrap_or_default();
    let (head, tail) = (ended(head), begun(tail));
    // A picture that is cut in two leaves no joiner or mark behind that stands on nothing.
    let (head, tail) = (head.trim_end_matches('\u{200d}'), tail.trim_start_matches(leans));
    let shown = head.chars().count() + tail.chars().count();
    Excerpt { head: head.to_owned(), tail: Some(tail.to_owned()), hidden: count - shown }
}

/// A part that is cut at an end of a line or of a word gives up at most this much for it.
fn near(part: &str) -> usize {
    (part.len() / 4).min(160)
}

/// A head without the beginning of a line, or of a word, that goes on.
fn ended(head: &str) -> &str {
    let least = head.len() - near(head);
    let end = head.rfind('\n').or_else(|| head.rfind(' ')).filter(|end| *end >= least);
    let end = end.or_else(|| head.rfind(' ').filter(|end| *end >= least));
    end.and_then(|end| head.get(..end)).unwrap_or(head)
}

/// A tail without the end of a line, or of a word, that began before it.
fn begun(tail: &str) -> &str {
    let most = near(tail);
    let start = tail.find('\n').filter(|start| *start <= most);
    let start = start.or_else(|| tail.find(' ').filter(|start| *start <= most));
    start.and_then(|start| tail.get(start + 1..)).unwrap_or(tail)
}

/// A text on a line, cut between words where it is longer than `most` characters, with the number
/// of those that are missing.
///
/// ```
/// assert_eq!(countersign_port::brief("rm -rf build", 20), "rm -rf build");
/// assert_eq!(countersign_port::brief("cargo build --release", 15), "cargo build… (+10)");
/// ```
#[must_use]
pub fn brief(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most).collect();
    let least = head.len() / 2;
    let goes_on = !text.chars().nth(most).is_some_and(char::is_whitespace);
    let end = head.rfind(' ').filter(|end| goes_on && *end >= least);
    let head = end.and_then(|end| head.get(..end)).unwrap_or(&head).trim_end();
    let head = head.trim_end_matches('\u{200d}');
    format!("{head}… (+{})", count - head.chars().count())
}

/// So many empty lines in a row stay.
const EMPTY_LINES: usize = 2;
/// So many blanks in a row stay: indentation and columns, but nothing out of sight.
const BLANKS: usize = 32;

/// The text without what only pushes the rest out of sight: longer runs of empty lines and of
/// blanks are counted instead. Where it differs from `text` the caller must carry the whole text as
/// a file.
///
/// ```
/// let padded = format!("ls{}rm -rf ~", "\n".repeat(80));
/// assert_eq!(countersign_port::folded(&padded), "ls\n⋮ 79 empty lines\nrm -rf ~");
/// ```
#[must_use]
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.trim().is_empty() {
            empty.push(line);
            continue;
        }
        fold_lines(&mut out, &mut empty);
        fold_blanks(&mut out, line);
        out.push('\n');
    }
    fold_lines(&mut out, &mut empty);
    // Every line above was ended, the last one too.
    out.pop();
    out
}

/// Ends a run of empty lines.
fn fold_lines(out: &mut String, empty: &mut Vec<&str>) {
    if empty.len() > EMPTY_LINES {
        out.push_str(&format!("⋮ {} empty lines\n", empty.len()));
    } else {
        for line in &*empty {
            fold_blanks(out, line);
            out.push('\n');
        }
    }
    empty.clear();
}

fn fold_blanks(out: &mut String, line: &str) {
    let mut rest = line;
    while let Some(start) = rest.find([' ', '\t']) {
        let (before, from) = rest.split_at_checked(start).unwrap_or((rest, ""));
        let after = from.trim_start_matches([' ', '\t']);
        let blanks = from.strip_suffix(after).unwrap_or(from);
        out.push_str(before);
        match blanks.len() {
            ..=BLANKS => out.push_str(blanks),
            count => out.push_str(&format!(" ⋯{count} blanks⋯ ")),
        }
        rest = after;
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_picture_that_is_cut_leaves_no_joiner_behind() {
        let two = "👩\u{200d}💻👩\u{200d}💻";
        assert_eq!(
            excerpt(two, 3),
            Excerpt { head: "👩".into(), tail: Some("💻".into()), hidden: 4 }
        );
        assert_eq!(
            excerpt("ab\u{200d}💻", 3),
            Excerpt { head: "ab".into(), tail: Some("💻".into()), hidden: 1 }
        );
        assert_eq!(
            excerpt("abcde\u{301}\u{301}", 6),
            Excerpt { head: "abcd".into(), tail: Some(String::new()), hidden: 3 }
        );
    }

    #[test]
    fn an_excerpt_keeps_head_and_tail_and_counts_what_it_hides() {
        assert_eq!(
            excerpt("abcdefghij", 6),
            Excerpt { head: "abcd".into(), tail: Some("ij".into()), hidden: 4 }
        );
        assert_eq!(excerpt("abc", 3), Excerpt { head: "abc".into(), tail: None, hidden: 0 });
    }

    #[test]
    fn padding_is_counted_and_ordinary_text_stays_to_the_letter() {
        let blanks = " ".repeat(33);
        for (text, shown) in [
            ("", ""),
            ("\n", "\n"),
            ("a\n\n\nb\n", "a\n\n\nb\n"),
            ("a\n\n \n\t\nb", "a\n⋮ 3 empty lines\nb"),
            ("\n\n\n", "⋮ 4 empty lines"),
            (&format!("ls{blanks};rm"), "ls ⋯33 blanks⋯ ;rm"),
            (&format!("{blanks}rm"), " ⋯33 blanks⋯ rm"),
            (&format!("    {}\tx", "é".repeat(40)), &format!("    {}\tx", "é".repeat(40))),
        ] {
            assert_eq!(folded(text), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn folding_loses_nothing_but_blanks_and_never_grows_a_text_much(
            text in "([a-z;\u{e9}]|[ \t]{1,60}|\n{1,6}){0,40}"
        ) {
            let words = |text: &str| -> Vec<String> {
                text.split_whitespace().map(str::to_owned).collect()
            };
            let shown = folded(&text);
            let marks = ["⋮", "empty", "lines", "blanks⋯"];
            let kept: Vec<String> = words(&shown)
                .into_iter()
                .filter(|word| {
                    !marks.contains(&word.as_str())
                        && !word.starts_with('⋯')
                        && word.parse::<usize>().is_err()
                })
                .collect();
            prop_assert_eq!(kept, words(&text));
            prop_assert!(shown.lines().count() <= text.lines().count() + 1);
        }
    }
}
