//! The words of a command, written so that a shell reads them back.

use crate::shell::{self, Dialect, Word};

/// The words of a command as a rule or a person would write them.
pub fn spoken(argv: &[Word<'_>]) -> String {
    let mut text = String::with_capacity(argv.len() * 12);
    for (at, word) in argv.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        match word.literal() {
            Some(literal) => text.push_str(&quoted(literal)),
            None => text.push_str(&word.text),
        }
    }
    text
}

/// A word as a shell would read it back.
pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,^[]{}*?!".contains(c);
    if !word.is_empty() && word.chars().all(plain) && reads_back(word) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn reads_back(word: &str) -> bool {
    let special = |c: char| "[]{}*?!".contains(c);
    if !word.contains(special) {
        return true;
    }
    let scan = shell::scan_as(word, Dialect::Bash);
    let [one] = scan.commands.as_slice() else { return false };
    matches!(one.argv.as_slice(), [w] if w.literal() == Some(word))
}
