//! Text in the columns of a terminal.

use std::os::fd::AsFd;
use unicode_width::UnicodeWidthChar;

/// How wide the terminal behind this stream is; `None` without one.
pub(super) fn of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    // Some terminals do not know their size.
    Some(if size.ws_col == 0 { 80 } else { size.ws_col.into() })
}

/// The text for a terminal of this width: what would not fit goes on behind a mark.
// SECURITY: so that a long line of an agent never looks like a line of ours.
pub(super) fn marked(text: &str, width: usize) -> String {
    // A tab has no width that is certain.
    let text = text.replace('\t', "    ");
    let lines: Vec<String> = text.split('\n').flat_map(|line| wrapped(line, width)).collect();
    lines.join("\n")
}

/// The line in pieces that fit, each but the first marked.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let width = width.max(4);
    let (first, mut rest) = line.split_at(cut(line, width).len());
    let mut pieces = vec![first.to_owned()];
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(cut(rest, width - 2).len());
        pieces.push(format!("↪ {piece}"));
        rest = behind;
    }
    pieces
}

/// As much of the text as fits.
pub(super) fn cut(text: &str, width: usize) -> &str {
    let mut used = 0;
    let mut paints = false;
    let end = text.char_indices().find(|(_, it)| {
        used += drawn(*it, &mut paints);
        used > width
    });
    end.map_or(text, |(at, _)| text.split_at(at).0)
}

/// How many columns the text takes.
pub(super) fn count(text: &str) -> usize {
    let mut paints = false;
    text.chars().map(|it| drawn(it, &mut paints)).sum()
}

/// The columns of a character. Our own colours take none; of others no escape comes this far.
fn drawn(it: char, paints: &mut bool) -> usize {
    match it {
        '\u{1b}' => *paints = true,
        'm' if *paints => *paints = false,
        _ if *paints => {}
        _ => return it.width().unwrap_or(0),
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_and_wrapped_by_columns_and_nothing_is_lost() {
        assert_eq!(cut("a安b", 2), "a");
        assert_eq!(cut("a安b", 3), "a安");
        assert_eq!(cut("ab", 0), "");
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("安安安", 5), ["安安", "↪ 安"]);
        assert_eq!(wrapped("安安安", 0), ["安安", "↪ 安"]);
    }

    #[test]
    fn what_an_agent_wrote_never_begins_a_line_as_ours_do() {
        let text = "rm -rf /       Why  a person said so";
        assert_eq!(wrapped(text, 15), ["rm -rf /       ", "↪ Why  a person", "↪  said so"]);
        let card = "a7f3  ls\n    reason     │ xxxx    rule       allow";
        let shown = "a7f3  ls\n    reason     │ xxx\n↪ x    rule       al\n↪ low";
        assert_eq!(marked(card, 20), shown);
    }

    #[test]
    fn colours_take_no_columns() {
        let painted = "\u{1b}[31mCRITICAL\u{1b}[0m ls";
        assert_eq!((count(painted), cut(painted, 11)), (11, painted));
        assert_eq!(wrapped(painted, 9), ["\u{1b}[31mCRITICAL\u{1b}[0m ", "↪ ls"]);
    }
}
