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
    let head = ended(head);
    let tail = begun(tail);
    // A picture that is cut in two leaves no joiner or mark behind that stands on nothing.
    let head = head.trim_end_matches('\u{200d}');
    let tail = tail.trim_start_matches(leans);
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

/// How many characters a row of a phone's screen holds.
pub(crate) const WIDTH: usize = 40;

/// How many rows a text takes there.
pub(crate) fn rows_of(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(WIDTH).max(1)).sum()
}

/// Cuts a text to so many rows, keeping the head and the tail, between lines where they are short.
/// Also returns how many lines are left out, where it is whole ones.
pub(crate) fn excerpt_rows(text: &str, rows: usize) -> (Excerpt, Option<usize>) {
    if rows_of(text) <= rows {
        return (Excerpt { head: text.to_owned(), tail: None, hidden: 0 }, None);
    }
    let of_tail = rows.div_ceil(3);
    let head = within(text.split_inclusive('\n'), rows - of_tail);
    let tail = within(text.split_inclusive('\n').rev(), of_tail);
    let start = head.whole;
    let end = text.len() - tail.whole;
    let part = |from, to| text.get(from..to).unwrap_or_default();
    let middle = part(start, end);
    let chars = |text: &str| text.chars().count();
    let (head, tail, is_lines) = if head.part == 0 && tail.part == 0 {
        let head = part(0, start);
        (head.strip_suffix('\n').unwrap_or(head).to_owned(), part(end, text.len()).to_owned(), true)
    } else if middle.lines().nth(1).is_none() {
        // One line that is too long is cut itself.
        let cut = excerpt(middle, head.part + tail.part);
        let Some(cut_tail) = cut.tail else {
            return (Excerpt { head: text.to_owned(), tail: None, hidden: 0 }, None);
        };
        let tail = format!("{cut_tail}{}", part(end, text.len()));
        (format!("{}{}", part(0, start), cut.head), tail, false)
    } else {
        let first = middle.lines().next().filter(|_| head.part > 0).unwrap_or_default();
        let begin = first.char_indices().nth(head.part).map_or(first, |(at, _)| {
            ended(first.get(..at).unwrap_or(first)).trim_end_matches('\u{200d}')
        });
        let last = middle.split_inclusive('\n').next_back().filter(|_| tail.part > 0);
        let last = last.unwrap_or_default();
        let from = tail.part.saturating_sub(1);
        let end_of_last = last.char_indices().rev().nth(from).map_or(last, |(at, _)| {
            begun(last.get(at..).unwrap_or(last)).trim_start_matches(leans)
        });
        let tail = format!("{end_of_last}{}", part(end, text.len()));
        (format!("{}{begin}", part(0, start)), tail, false)
    };
    let hidden = chars(text) - chars(&head) - chars(&tail);
    let lines = is_lines.then(|| middle.lines().count());
    (Excerpt { head, tail: Some(tail), hidden }, lines)
}

/// What of some lines fits.
struct Within {
    /// Bytes of whole lines.
    whole: usize,
    /// Characters of the line behind them, where it is worth cutting.
    part: usize,
}

fn within<'t>(lines: impl Iterator<Item = &'t str>, rows: usize) -> Within {
    let mut whole = 0;
    let mut left = rows;
    for line in lines {
        let needed = rows_of(line).max(1);
        if needed > left {
            let cuts = whole == 0 || left > 2;
            return Within { whole, part: if cuts { left * WIDTH } else { 0 } };
        }
        (whole, left) = (whole + line.len(), left - needed);
    }
    Within { whole, part: 0 }
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

/// A text, cut to so many characters, the last of which says then that it goes on.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
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
        out.push_str(before);
        // By length: comparing the rest anew at each blank would take seconds for a large call.
        match from.len() - after.len() {
            few @ ..=BLANKS => out.push_str(from.get(..few).unwrap_or_default()),
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

    #[test]
    fn a_text_is_cut_between_its_lines_and_a_long_line_between_its_words() {
        let script: Vec<String> = (1..=20).map(|n| format!("echo {n}")).collect();
        let (cut, lines) = excerpt_rows(&script.join("\n"), 6);
        assert_eq!(cut.head, "echo 1\necho 2\necho 3\necho 4");
        assert_eq!((cut.tail.as_deref(), lines), (Some("echo 19\necho 20"), Some(14)));
        let line = format!("echo start; {} rm -rf tail-end", "true; ".repeat(200));
        let (cut, lines) = excerpt_rows(&line, 6);
        assert!(cut.head.starts_with("echo start; true;") && lines.is_none());
        let tail = cut.tail.unwrap_or_default();
        assert!(tail.ends_with("true;  rm -rf tail-end"), "{tail}");
        let shown = cut.head.chars().count() + tail.chars().count();
        assert!(shown <= 6 * WIDTH && shown + cut.hidden == line.chars().count(), "{shown}");
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

        #[test]
        fn what_is_cut_to_rows_is_short_and_counted(
            text in "([a-z ]{0,60}\n?|\u{e9}{50}|\n){0,40}", rows in 3_usize..15
        ) {
            let (cut, lines) = excerpt_rows(&text, rows);
            let tail = cut.tail.unwrap_or_default();
            let shown = rows_of(&cut.head) + rows_of(&tail);
            // An end of a line that is cut can begin a row of its own.
            prop_assert!(shown <= rows + 2, "{shown} rows: {:?} {tail:?}", cut.head);
            prop_assert!(text.starts_with(&cut.head) && text.ends_with(&tail));
            let shown = cut.head.chars().count() + tail.chars().count();
            prop_assert_eq!(shown + cut.hidden, text.chars().count());
            // The head was ended before its last line break.
            let of_head = cut.head.split('\n').count();
            let middle = text.lines().count().saturating_sub(of_head + tail.lines().count());
            prop_assert!(lines.is_none_or(|lines| lines == middle), "{lines:?} of {middle}");
        }
    }
}
