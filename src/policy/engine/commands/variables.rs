//! Variables that may turn a command into another one.

use crate::engine::part_decision::PartDecision;
use crate::facts::wrappers::Unwrapped;
use crate::shell::{Command, Word, environment};

/// Asks for variables before a command that may turn it into another one.
pub(super) fn assigns<'r>(command: &Command<'_>) -> PartDecision<'r> {
    let name = command.argv.first().and_then(Word::literal);
    let bare = command.argv.is_empty();
    command
        .assigns
        .iter()
        .find(|assign| {
            !environment::harmless(assign.name, if bare { None } else { Some(name.unwrap_or("")) })
        })
        .map_or_else(|| PartDecision::allow(None), |assign| changes(assign.name))
}

/// Asks for such variables among the words of `env` and `sudo`.
pub(super) fn given<'r>(behind: &Unwrapped<'_, '_>) -> PartDecision<'r> {
    behind
        .assigns
        .iter()
        .filter_map(|word| word.text.split('=').next())
        .find(|name| !environment::harmless(name, Some("")))
        .map_or_else(|| PartDecision::allow(None), changes)
}

fn changes<'r>(name: &str) -> PartDecision<'r> {
    PartDecision::ask(format!("Setting {name} may change what the command runs."))
}
