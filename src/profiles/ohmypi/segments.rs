//! Splits a shell text into commands as oh-my-pi does: coarsely, for deny and prompt patterns.

use std::iter::Peekable;
use std::str::Chars;

/// Characters that a backslash escapes between double quotes.
pub(super) const ESCAPABLE: [char; 4] = ['"', '\\', '$', '`'];

/// Returns the words of every command without quotes, joined with single blanks. Parentheses,
/// pipes, `;`, `&` and line ends separate commands. Substitutions, here-documents and arithmetic
/// are not recognized.
pub(super) fn segments(text: &str) -> Vec<String> {
    let mut found = Cutter::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => found.word.extend(chars.by_ref().take_while(|&c| c != '\'')),
            '"' => found.double(&mut chars),
            '\\' => found.word.push(chars.next().unwrap_or('\\')),
            ' ' | '\t' => found.end_word(),
            '\n' | ';' | '&' | '|' | '(' | ')' => found.end_segment(),
            _ => found.word.push(c),
        }
    }
    found.end_segment();
    found.segments
}

#[derive(Default)]
struct Cutter {
    segments: Vec<String>,
    words: Vec<String>,
    word: String,
}

impl Cutter {
    fn double(&mut self, chars: &mut Peekable<Chars<'_>>) {
        while let Some(c) = chars.next().filter(|&c| c != '"') {
            let escaped = (c == '\\').then(|| chars.next_if(|next| ESCAPABLE.contains(next)));
            self.word.push(escaped.flatten().unwrap_or(c));
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.segments.push(std::mem::take(&mut self.words).join(" "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn commands_are_cut_at_every_boundary_and_quotes_hide_none() {
        assert_eq!(segments("cd /tmp && \"rm\" -rf 'a b'"), ["cd /tmp", "rm -rf a b"]);
        assert_eq!(segments("(rm x); a|b & c\nd"), ["rm x", "a", "b", "c", "d"]);
        assert_eq!(segments("echo \"a\\\"b\\n\" '' \\;"), ["echo a\"b\\n ;"]);
        assert_eq!(segments("echo 'open ; rm x"), ["echo open ; rm x"]);
    }
}
