//! wayland-core's own rules for granted prefixes: plain text, without knowledge of the shell.
//!
//! A grant that these refuse never counts; where they accept too much, [`super::prefix`] refuses.

use crate::Prefix;
use crate::wcore::config::Category;

/// Returns true when every piece of the command starts with one of the prefixes granted to the
/// category.
#[must_use]
pub fn covers(prefixes: &[Prefix], category: Category, command: &str) -> bool {
    let begins = |piece: &&str| {
        prefixes
            .iter()
            // By category and not by tool, as in wayland-core: a grant for Bash covers every tool
            // of its category.
            .filter(|prefix| prefix.category == category.word())
            .any(|prefix| matches(&prefix.text, piece))
    };
    let pieces = split(command);
    !runs_unseen(command) && !pieces.is_empty() && pieces.iter().all(begins)
}

/// Returns true when one command starts with a rule, which counts up to the first of `{`, `*` and
/// `:`.
#[must_use]
pub fn matches(rule: &str, command: &str) -> bool {
    // Cut as in wayland-core: `cargo {build,test}:*` therefore also approves `cargo publish`.
    let head = rule.split(['{', '*', ':']).next().unwrap_or_default().trim();
    // No word boundary either: `cargo ` also approves `cargo-evil`. The strict profile checks whole
    // words in addition.
    !head.is_empty() && command.trim_start().starts_with(head)
}

/// Splits the command at separators, ignoring quotes.
#[must_use]
pub fn split(command: &str) -> Vec<&str> {
    command.split([';', '\n', '&', '|']).map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

/// Returns true when the text runs something that splitting does not show: a substitution, or a
/// lone `&`.
#[must_use]
pub fn runs_unseen(command: &str) -> bool {
    let substitutes = ["$(", "`", "<(", ">("].iter().any(|mark| command.contains(mark));
    // `2>&1` counts as a lone `&` too, and so asks.
    substitutes || runs_of_ampersands(command).any(|length| length == 1)
}

/// Returns the prefix to offer for a command: its first word, and the second one unless it is an
/// option.
#[must_use]
pub fn infer_prefix(command: &str) -> String {
    // This may be `sudo rm ` or `bash `; the strict profile offers `prefix::offers` instead.
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
