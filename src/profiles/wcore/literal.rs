//! wayland-core's own rules for granted prefixes: plain text, no knowledge of the shell.
//!
//! A grant that these do not honour is honoured by nobody; where they are too kind,
//! [`super::prefix`] is not.

use super::category::Category;
use crate::Prefix;

/// Whether every piece of the command begins with one of the prefixes granted to the category.
#[must_use]
pub fn covers(prefixes: &[Prefix], category: Category, command: &str) -> bool {
    let begins = |piece: &&str| {
        prefixes
            .iter()
            .filter(|prefix| prefix.category == category.word())
            .any(|prefix| matches(&prefix.text, piece))
    };
    let pieces = split(command);
    !runs_unseen(command) && !pieces.is_empty() && pieces.iter().all(begins)
}

/// Whether one command begins with a rule: the rule counts up to the first of `{`, `*` and `:`.
#[must_use]
pub fn matches(rule: &str, command: &str) -> bool {
    let head = rule.split(['{', '*', ':']).next().unwrap_or_default().trim();
    !head.is_empty() && command.trim_start().starts_with(head)
}

/// The pieces between separators, quotes not looked at.
#[must_use]
pub fn split(command: &str) -> Vec<&str> {
    command.split([';', '\n', '&', '|']).map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// Whether the text runs something that no splitting shows: a substitution, or a lone `&`.
#[must_use]
pub fn runs_unseen(command: &str) -> bool {
    let substitutes = ["$(", "`", "<(", ">("].iter().any(|mark| command.contains(mark));
    substitutes || runs_of_ampersands(command).any(|length| length == 1)
}

/// What is offered for a command: its first word, and the second one unless it is an option.
#[must_use]
pub fn infer_prefix(command: &str) -> String {
    let mut words = command.split_whitespace();
    match (words.next(), words.next()) {
        (None, _) => String::new(),
        (Some(first), Some(second)) if !second.starts_with('-') => format!("{first} {second} "),
        (Some(first), _) => format!("{first} "),
    }
}

fn runs_of_ampersands(command: &str) -> impl Iterator<Item = usize> {
    command.split(|c| c != '&').map(str::len).filter(|length| *length > 0)
}
