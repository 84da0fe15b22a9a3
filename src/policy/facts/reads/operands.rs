//! What may stand where a reading program takes its operands.

use super::names::{may_be_secret, named, readable, said, shown};
use super::scripts;
use super::words::Words;
use crate::facts::paths::Directories;
use crate::facts::programs::reading::Operands;
use crate::shell::{Word, WordKind};

/// Whether all the words of a command are known to read.
pub(super) fn read(operands: Operands, words: &Words<'_, '_>, dirs: Directories<'_>) -> bool {
    let literal = |at: usize| words.operands.get(at).and_then(|(word, _)| word.literal());
    let from = |from: usize, shows: bool, guarded: bool| {
        words
            .operands
            .iter()
            .skip(from)
            .all(|(word, behind)| named(word, shows, guarded && !behind, dirs))
    };
    let short = words.values.iter().filter(|(name, _)| *name == "g").map(|(_, value)| value);
    // What begins with `!` is left out of a search.
    let patterns = words.files.iter().chain(short).filter(|file| !file.starts_with('!'));
    if !patterns.into_iter().all(|file| readable(file, true, dirs) && !may_be_secret(file)) {
        return false;
    }
    match operands {
        Operands::None | Operands::Find | Operands::Ps => words.operands.is_empty(),
        Operands::Words => words.operands.iter().all(|(word, _)| said(word, dirs)),
        Operands::Literals => (0..words.operands.len()).all(|at| literal(at).is_some()),
        Operands::Variables => {
            !words.operands.is_empty()
                && (0..words.operands.len()).all(|at| literal(at).is_some_and(shown))
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
        Operands::Sed => scripts::sed(words).is_some_and(|scripts| from(scripts, true, true)),
        Operands::Awk => literal(0).is_some_and(scripts::awk) && from(1, true, true),
        Operands::Jq => literal(0).is_some_and(scripts::jq) && from(1, true, true),
        Operands::Revisions => {
            let line = words.values.iter().filter(|(name, _)| *name == "L");
            line.map(|(_, value)| value.rsplit(':').next().unwrap_or(value))
                .all(|file| readable(file, true, dirs))
                && words.operands.iter().all(|(word, behind)| revision(word, *behind, dirs))
        }
        Operands::Setting => words.operands.len() == 1 && literal(0).is_some_and(setting),
        Operands::Listed(given) => words.operands.is_empty() || words.has(given),
    }
}

/// A revision, a range of them, a file in one (`HEAD:src/a.rs`), or a path.
fn revision(word: &Word<'_>, behind: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    let known = match word.kind {
        WordKind::Literal => true,
        WordKind::Glob => behind || !text.starts_with(['*', '?', '[', '-']),
        WordKind::Home | WordKind::Dynamic => false,
    };
    let path = text.rsplit(':').next().unwrap_or(text);
    known && readable(text, true, dirs) && readable(path, true, dirs)
}

/// A key of git's configuration that holds no token.
fn setting(key: &str) -> bool {
    let groups = ["user.", "core.", "branch.", "init.", "pull.", "push.", "alias."];
    groups.iter().any(|group| key.starts_with(group))
}
