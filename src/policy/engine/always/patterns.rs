//! Patterns for one command.

use crate::engine::always::arity::prefix;
use crate::engine::always::spelling::{quoted, spoken};
use crate::facts::options;
use crate::facts::paths::Directories;
use crate::facts::programs::description::{AlwaysRule, Role};
use crate::facts::programs::own::OperatorProgram;
use crate::facts::programs::{self, listed, wide};
use crate::facts::wrappers::{Inner, Passage, base, unwrap};
use crate::glob::escape;
use crate::shell::Word;

/// How much a wildcard may cover.
#[derive(Clone, Copy)]
pub(crate) enum Width<'d> {
    /// Whatever begins with the words that name what a command does, as other systems store it.
    Family,
    /// The same, but nothing that deletes, overwrites, publishes, pays, gains rights or hands words
    /// to an interpreter: such a command is named with every word. Seen from these folders.
    Harmless(Directories<'d>),
}

/// Patterns for one command, as wide as its family; `None` when none must be offered.
pub fn of_command(argv: &[Word<'_>], depth: u32) -> Option<Vec<String>> {
    patterns(argv, depth, Width::Family)
}

/// Patterns for one command of this width; `None` when none must be offered.
pub(super) fn patterns(argv: &[Word<'_>], depth: u32, width: Width<'_>) -> Option<Vec<String>> {
    let name = base(argv.first()?.literal()?);
    if depth > 2 || grant(name).never {
        return None;
    }
    match unwrap(argv) {
        Some(behind) if behind.passage == Passage::Inner => {
            let mut found = Vec::new();
            for inner in &behind.inner {
                match inner {
                    Inner::Argv { argv, open } => {
                        found.extend(of_inner(argv, *open, depth + 1, width)?);
                    }
                    _ => return None,
                }
            }
            Some(found)
        }
        Some(behind) if behind.passage == Passage::DenyOnly => None,
        Some(behind) if behind.passage == Passage::Outer && !names_its_program(name, argv) => None,
        _ => of_words(argv, false, width),
    }
}

/// Patterns for a program that the operator describes.
pub(super) fn of_own(
    program: &OperatorProgram,
    argv: &[Word<'_>],
    width: Width<'_>,
) -> Option<Vec<String>> {
    let Some(words) = program.words else { return patterns(argv, 0, width) };
    let literal: Vec<&str> = argv.iter().map_while(Word::literal).collect();
    let exact = || (literal.len() == argv.len()).then(|| vec![escape(&spoken(argv))]);
    if argv.len() <= words {
        return exact();
    }
    let named = literal.get(..words)?;
    if matches!(width, Width::Harmless(_)) && wide::grave_behind(None, named) {
        return exact();
    }
    let flagged = named.iter().skip(1).any(|word| word.starts_with('-'));
    let head = named.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    (!flagged).then(|| vec![format!("{} *", escape(&head))])
}

/// The command behind a wrapper.
fn of_inner(argv: &[Word<'_>], open: bool, depth: u32, width: Width<'_>) -> Option<Vec<String>> {
    match (unwrap(argv).is_some(), width) {
        // Words that are only known when it runs (`xargs`): only a wildcard would cover them.
        (_, Width::Harmless(_)) if open => None,
        (true, _) => patterns(argv, depth, width),
        (false, _) => of_words(argv, open, width),
    }
}

/// The command itself, whatever it runs.
fn of_words(argv: &[Word<'_>], open: bool, width: Width<'_>) -> Option<Vec<String>> {
    let name = base(argv.first()?.literal()?);
    if grant(name).never {
        return None;
    }
    let literal: Vec<&str> = argv.iter().map_while(Word::literal).collect();
    let sub = literal.get(1).copied().unwrap_or("");
    let grant = grant(name);
    if listed(grant.never_subs, sub) {
        return None;
    }
    let exact = || (literal.len() == argv.len()).then(|| vec![escape(&spoken(argv))]);
    if runs_script_file(name) && !listed(grant.scripts, sub) {
        // A script may be run again with the same words; code on the command line never.
        let script = literal.get(1).is_some_and(|first| !first.starts_with('-') || *first == "-m");
        return if script && sub != "eval" { exact() } else { None };
    }
    if grant.runner && runs_anything(base(sub)) {
        return None;
    }
    if listed(grant.runners, sub) && literal.get(2).is_none_or(|third| runs_anything(base(third))) {
        return None;
    }
    let words = prefix(&literal);
    let flagged =
        words.iter().skip(1).any(|word| word.starts_with('-')) && !listed(grant.options, sub);
    if argv.len() <= words.len() && !open {
        let many = programs::exact(name).is_some_and(|program| program.is(Role::Many));
        let nameless = many && flagged && words.len() > 1 && argv.len() <= 2;
        return if nameless { None } else { exact() };
    }
    if flagged || literal.len() < words.len() {
        return None;
    }
    let is = |role| programs::of(name).is_some_and(|program| program.is(role));
    if matches!(width, Width::Harmless(_)) && is(Role::Programmed) {
        return None;
    }
    if let Width::Harmless(dirs) = width
        && (wide::grave_behind(programs::of(name), words)
            || options::exceeds(argv, false, dirs).is_some())
    {
        return exact();
    }
    let head = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    Some(vec![format!("{} *", escape(&head))])
}

/// A runner whose rule names what it runs.
fn names_its_program(name: &str, argv: &[Word<'_>]) -> bool {
    let second = argv.get(1).and_then(Word::literal).unwrap_or_default();
    let grant = grant(name);
    runs_script_file(name) || grant.runner || listed(grant.runners, second)
}

fn runs_anything(name: &str) -> bool {
    name.starts_with('-') || grant(name).never || runs_script_file(name)
}

fn runs_script_file(name: &str) -> bool {
    let is = |name: &str| programs::exact(name).is_some_and(|one| one.is(Role::Interpreter));
    // `python3.12`, `ruby3.2`, `node20`
    is(name) || is(name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// What is known of how a program's rules are stored.
fn grant(name: &str) -> AlwaysRule {
    programs::exact(name).map_or(AlwaysRule::ONE_WORD, |program| program.grant)
}
