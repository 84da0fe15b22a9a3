//! Patterns for one command.

use super::arity::prefix;
use super::spelling::{quoted, spoken};
use crate::facts::programs;
use crate::facts::programs::description::Role;
use crate::facts::programs::grant::Grant;
use crate::facts::programs::own::OwnProgram;
use crate::facts::programs::words::listed;
use crate::facts::wrappers::{Inner, Passage, base, unwrap};
use crate::glob::escape;
use crate::shell::Word;

/// Patterns for one command; `None` when none must be offered.
pub fn of_command(argv: &[Word<'_>], depth: u32) -> Option<Vec<String>> {
    let name = base(argv.first()?.literal()?);
    if depth > 2 || grant(name).never {
        return None;
    }
    match unwrap(argv) {
        Some(behind) if behind.passage == Passage::Inner => {
            let mut patterns = Vec::new();
            for inner in &behind.inner {
                match inner {
                    Inner::Argv { argv, open } => {
                        patterns.extend(of_inner(argv, *open, depth + 1)?);
                    }
                    _ => return None,
                }
            }
            Some(patterns)
        }
        Some(behind) if behind.passage == Passage::DenyOnly => None,
        Some(behind) if behind.passage == Passage::Outer && !names_its_program(name, argv) => None,
        _ => of_words(argv, false),
    }
}

/// Patterns for a program that the operator describes.
pub(super) fn of_own(program: &OwnProgram, argv: &[Word<'_>]) -> Option<Vec<String>> {
    let Some(words) = program.words else { return of_command(argv, 0) };
    let literal: Vec<&str> = argv.iter().map_while(Word::literal).collect();
    if argv.len() <= words {
        return (literal.len() == argv.len()).then(|| vec![escape(&spoken(argv))]);
    }
    let named = literal.get(..words)?;
    let flagged = named.iter().skip(1).any(|word| word.starts_with('-'));
    let head = named.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    (!flagged).then(|| vec![format!("{} *", escape(&head))])
}

/// The command behind a wrapper.
fn of_inner(argv: &[Word<'_>], open: bool, depth: u32) -> Option<Vec<String>> {
    if unwrap(argv).is_some() { of_command(argv, depth) } else { of_words(argv, open) }
}

/// The command itself, whatever it runs.
fn of_words(argv: &[Word<'_>], open: bool) -> Option<Vec<String>> {
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
fn grant(name: &str) -> Grant {
    programs::exact(name).map_or(Grant::ONE_WORD, |program| program.grant)
}
