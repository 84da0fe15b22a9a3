//! The operands that a reading program may have.

use super::names::{named, opened, said, selects};
use super::scripts;
use super::words::SortedWords;
use crate::facts::paths::{Directories, PatternOf};
use crate::facts::programs::reading::Operands;
use crate::shell::{Word, WordKind, environment};

/// Returns true when all words of a command are known to read.
pub(super) fn read(operands: Operands, words: &SortedWords<'_, '_>, dirs: Directories<'_>) -> bool {
    let literal = |at: usize| words.operands.get(at).and_then(|(word, _)| word.literal());
    let from = |from: usize, shows: bool, guarded: bool| {
        words
            .operands
            .iter()
            .skip(from)
            .all(|(word, behind)| named(word, shows, guarded && !behind, dirs))
    };
    // rg's `-g` takes a pattern of file names, which may select a secret.
    let short = words.values.iter().filter(|(name, _)| *name == "g").map(|(_, value)| value);
    // A pattern that starts with `!` excludes files from a search.
    let mut patterns = words.files.iter().chain(short).filter(|file| !file.starts_with('!'));
    if !patterns.all(|file| selects(file, PatternOf::Search, dirs)) {
        return false;
    }
    match operands {
        Operands::None | Operands::Find | Operands::Ps => words.operands.is_empty(),
        Operands::Words => words.operands.iter().all(|(word, _)| said(word, dirs)),
        Operands::Literals => (0..words.operands.len()).all(|at| literal(at).is_some()),
        Operands::Variables => {
            !words.operands.is_empty()
                && (0..words.operands.len()).all(|at| literal(at).is_some_and(environment::shown))
        }
        Operands::Format => match words.operands.as_slice() {
            [] => true,
            [(word, _)] => word.literal().is_some_and(|text| text.starts_with('+')),
            _ => false,
        },
        Operands::Names => from(0, false, false),
        Operands::Contents => from(0, true, false),
        Operands::Guarded => from(0, true, true),
        Operands::OneFile => words.operands.len() <= 1 && from(0, true, true),
        Operands::Pattern(given) => {
            let pattern = !words.has(given);
            (!pattern || literal(0).is_some()) && from(usize::from(pattern), true, true)
        }
        Operands::Sed | Operands::Awk | Operands::Jq => {
            scripts::scripts(operands, words).is_some_and(|scripts| from(scripts, true, true))
        }
        Operands::Revisions => {
            // `-L 1,9:file` names a file behind the colon.
            let lines = words.values.iter().filter(|(name, _)| *name == "L");
            lines.map(|(_, value)| value).all(|value| opened(value, dirs))
                && words.operands.iter().all(|(word, behind)| revision(word, *behind, dirs))
        }
        Operands::Setting => words.operands.len() == 1 && literal(0).is_some_and(setting),
        Operands::Listed(given) => words.operands.is_empty() || words.has(given),
    }
}

/// Returns true for a revision, a range of them, a file in one (`HEAD:src/a.rs`), or a path.
fn revision(word: &Word<'_>, behind: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    let known = match word.kind {
        WordKind::Literal => true,
        WordKind::Glob => behind || !text.starts_with(['*', '?', '[', '-']),
        WordKind::Home | WordKind::Dynamic => false,
    };
    known && opened(text, dirs)
}

/// Returns true for a key of git's configuration that holds no token. Addresses, aliases and
/// commands may hold one.
fn setting(key: &str) -> bool {
    matches!(
        key,
        "user.name"
            | "user.email"
            | "init.defaultBranch"
            | "core.autocrlf"
            | "core.ignorecase"
            | "core.bare"
            | "core.filemode"
            | "core.hooksPath"
            | "pull.rebase"
            | "push.default"
    )
}
