//! Reads a shell text as ConnectOnion's own parser does, blind spots included, because its
//! permissions are matched against that reading. [`countersign_policy::shell`] determines what bash
//! would really run.
//!
//! Known blind spots, each recorded from the parser itself
//! (`tests/vectors/001-connectonion/bash.jsonl`): `${x:-$(id)}`, redirects of compound commands,
//! here-documents, everything after the first line of a `$(…)`. The parser gives up on `case`,
//! `select`, `time`, `coproc`, `[[`, arithmetic and arrays.

mod grammar;
mod word;

use std::fmt;

/// A simple command: its words without quotes, assignments and redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    /// The words; never empty.
    pub(super) words: Vec<String>,
}

impl Simple {
    /// Returns the text that patterns are matched with.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// The reason why the parser gave up. ConnectOnion's agent gets it as an error of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// A construct that the parser does not support.
    Unsupported,
    /// An unclosed quote or bracket.
    Unmatched,
    /// Text that does not fit the grammar.
    Syntax,
    /// Only blanks and comments.
    Empty,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsupported => "NotImplementedError",
            Self::Unmatched => "MatchedPairError",
            Self::Syntax => "ParsingError",
            Self::Empty => "AttributeError",
        })
    }
}

/// Returns every command of a text, each before those of its substitutions.
///
/// # Errors
/// When the parser gives up.
pub(super) fn read(text: &str) -> Result<Vec<Simple>, Unread> {
    let mut reader = BashReader::new(text);
    reader.program()?;
    if reader.out.is_empty() {
        // A text without commands (`A=1`, `> x`) is matched as a whole.
        return Ok(vec![Simple { words: vec![text.to_owned()] }]);
    }
    Ok(reader.out)
}

/// Nesting limit; deeper texts are given up.
const MAX_DEPTH: usize = 100;

/// The state of the reader.
struct BashReader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    out: Vec<Simple>,
    /// Here-documents whose bodies start at the next line: the end word, and whether leading tabs
    /// are removed.
    bodies: Vec<(String, bool)>,
}

impl BashReader {
    fn new(text: &str) -> Self {
        let chars = joined(text).chars().collect();
        Self { chars, at: 0, depth: 0, out: Vec::new(), bodies: Vec::new() }
    }

    fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<char> {
        self.chars.get(self.at + by).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(by, char)| self.ahead(by) == Some(char))
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.starts(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        // ConnectOnion loses a `#` directly behind `;` or `&` and reads what follows as words.
        let behind = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        if self.peek() == Some('#') && behind.is_none_or(|char| !matches!(char, ';' | '&')) {
            while self.peek().is_some_and(|char| char != '\n') {
                self.at += 1;
            }
        } else if self.peek() == Some('#') {
            self.at += 1;
        }
    }

    /// Skips blanks, comments and line ends, with the here-documents behind them.
    fn lines(&mut self) -> Result<(), Unread> {
        self.blanks();
        while self.peek() == Some('\n') {
            self.line_end()?;
            self.blanks();
        }
        Ok(())
    }

    fn line_end(&mut self) -> Result<(), Unread> {
        self.at += 1;
        for (end, tabs) in std::mem::take(&mut self.bodies) {
            loop {
                if self.peek().is_none() {
                    return Err(Unread::Syntax);
                }
                let line: String =
                    self.chars.iter().skip(self.at).take_while(|char| **char != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.chars.len());
                let text = if tabs { line.trim_start_matches('\t') } else { &line };
                if text == end {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Joins continued lines before anything else is read; comments join nothing.
fn joined(text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // An even number of quotes before the `#` means that it is outside of them.
        let comment = line.match_indices('#').any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default();
            let even = |quote| before.matches(quote).count() % 2 == 0;
            (before.is_empty() || before.ends_with([' ', '\t', ';'])) && even('"') && even('\'')
        });
        match line.strip_suffix("\\\n") {
            Some(joined) if !comment => whole.push_str(joined),
            _ => whole.push_str(line),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::{Unread, read};

    fn texts(text: &str) -> Result<Vec<String>, Unread> {
        Ok(read(text)?.iter().map(super::Simple::text).collect())
    }

    #[test]
    fn commands_come_before_those_of_their_substitutions() {
        assert_eq!(
            texts("a \"$(b `c`)\" > $(d); e").unwrap(),
            ["a $(b `c`)", "b `c`", "c", "d", "e"]
        );
    }

    #[test]
    fn what_it_does_not_see_is_not_there() {
        for (text, seen) in [
            ("echo ${X:-$(id)}", vec!["echo ${X:-$(id)}"]),
            ("{ ls; } > >(id)", vec!["ls"]),
            ("cat <<EOF\n$(id)\nEOF", vec!["cat"]),
            ("ls $(pwd\nid)", vec!["ls $(pwd\nid)", "pwd"]),
        ] {
            assert_eq!(texts(text).unwrap(), seen, "{text}");
        }
    }

    #[test]
    fn endless_nesting_is_given_up_on() {
        for open in ["(", "$(", "{ ", "`(", "<(", "\"$("] {
            assert!(texts(&open.repeat(100_000)).is_err(), "{open}");
        }
    }

    /// Rows marked `unlike` are known to be read differently from the parser.
    #[test]
    fn texts_are_read_as_the_parser_was_seen_to_read_them() {
        let path = "/../../tests/vectors/001-connectonion/bash.jsonl";
        let rows = std::fs::read_to_string([env!("CARGO_MANIFEST_DIR"), path].concat()).unwrap();
        let mut surprises = Vec::new();
        for row in rows.lines().map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap()) {
            let wanted = row.get("subcommands").or(row.get("error")).unwrap();
            let got = match texts(row["command"].as_str().unwrap()) {
                Ok(texts) => serde_json::json!(texts),
                Err(error) => error.to_string().into(),
            };
            if (*wanted == got) != row.get("unlike").is_none() {
                surprises.push(format!("{row}: {got}"));
            }
        }
        assert_eq!(surprises, Vec::<String>::new());
    }
}
