//! Guesses the commands of a text that was not understood: for deny rules only, never to allow.

use std::borrow::Cow;

use super::{Command, Via, Word, WordKind};
use crate::words::listed;

/// Limit on guessed commands. The decision is at least an ask without them.
const MAX_GUESSES: usize = 4096;

/// Returns every run of words between characters that may separate commands, without quotes and
/// backslashes.
pub(super) fn commands(source: &str) -> Vec<Command<'_>> {
    // Wider than the grammar: a separator inside quotes splits too. More guesses do no harm,
    // because each can only deny.
    let separates = |c: char| ";&|\n\r\0(){}`$".contains(c);
    let mut found = Vec::new();
    let mut begin = 0;
    for piece in source.split(separates) {
        let end = begin + piece.len();
        let argv = words(source, begin, piece);
        if !argv.is_empty() && found.len() < MAX_GUESSES {
            found.push(Command { argv, via: Via::Guess, ..Command::default() });
        }
        begin = end + 1;
    }
    found
}

fn words<'a>(source: &'a str, begin: usize, piece: &'a str) -> Vec<Word<'a>> {
    let mut argv = Vec::new();
    let mut at = begin;
    for part in piece.split(char::is_whitespace) {
        let span = at..at + part.len();
        at += part.len()
            + source
                .get(at + part.len()..)
                .and_then(|t| t.chars().next())
                .map_or(0, char::len_utf8);
        if part.is_empty() {
            continue;
        }
        let quotes = ['"', '\'', '\\'];
        let text = if part.contains(quotes) {
            Cow::Owned(part.replace(quotes, ""))
        } else {
            Cow::Borrowed(part)
        };
        // `!`, `then`, `do` and `VAR=x` may precede a command name.
        let prefix = argv.is_empty()
            && (listed("! then do else elif if while until time function coproc", &text)
                || text.contains('=')
                || text.starts_with(['<', '>']));
        if !prefix && !text.is_empty() {
            argv.push(Word { text, kind: WordKind::Literal, quoted: false, span });
        }
    }
    argv
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn a_command_name_behind_any_separator_is_guessed() {
        let text = "ls ; ) 'r'm -rf x `curl y`";
        let names: Vec<_> = commands(text)
            .iter()
            .map(|c| c.argv.iter().map(|w| w.text.to_string()).collect::<Vec<_>>())
            .collect();
        assert_eq!(names, [vec!["ls"], vec!["rm", "-rf", "x"], vec!["curl", "y"]]);
    }
}
