//! Programs whose operands are a small language: find, ps, sed, awk, jq.

use super::names;
use super::words::SortedWords;
use crate::facts::paths::Directories;
use crate::facts::programs::checks::find::{Follows, follows};
use crate::facts::programs::languages::{awk, jq, sed};
use crate::facts::programs::reading::Operands;
use crate::shell::{Word, WordKind};

/// Returns true for `find` with start points in the workspace, tests and printing only.
pub(super) fn find(args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let mut words = args.iter();
    // Start points come before the first test.
    let mut starts = true;
    while let Some(word) = words.next() {
        let text = &*word.text;
        let expression = text.starts_with('-') || matches!(text, "(" | ")" | "!" | ",");
        starts &= !expression || text == "-P";
        let known = match (starts && !expression, word.kind) {
            (true, WordKind::Literal | WordKind::Home) => {
                names::said(word, dirs) && stays(word, dirs)
            }
            (true, WordKind::Glob) => !text.starts_with(['*', '?', '[']) && stays(word, dirs),
            (false, WordKind::Literal) => match follows(text) {
                Some(Follows::Nothing) => true,
                Some(Follows::Text) => words.next().is_some_and(|value| value.literal().is_some()),
                Some(Follows::File) => words
                    .next()
                    .and_then(Word::literal)
                    .is_some_and(|file| names::readable(file, false, dirs)),
                None => false,
            },
            _ => false,
        };
        if !known {
            return false;
        }
    }
    true
}

fn stays(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    crate::facts::paths::of_word(word, dirs).is_some_and(|path| names::readable(&path, false, dirs))
}

/// Returns true for `ps aux`, `ps -ef` and the like. In the old style, the letter `e` prints
/// environments.
pub(super) fn ps(args: &[Word<'_>]) -> bool {
    args.iter().all(|word| {
        let Some(text) = word.literal() else { return false };
        let only = |text: &str, letters: &str| text.chars().all(|c| letters.contains(c));
        match text.strip_prefix('-') {
            Some(long) if long.starts_with('-') => {
                matches!(long, "-forest" | "-no-headers") || long.starts_with("-sort=")
            }
            Some(flags) => only(flags, "AaefFHjlLMTyZw"),
            None => only(text, "afHjlmrTuvwxX") || only(text, "0123456789,"),
        }
    })
}

/// Returns the number of operands that are scripts, if every script on the command line only reads
/// and prints.
pub(crate) fn scripts(operands: Operands, words: &SortedWords<'_, '_>) -> Option<usize> {
    let reads = match operands {
        Operands::Sed => sed::reads,
        Operands::Awk => awk::reads,
        Operands::Jq => jq::reads,
        _ => return Some(0),
    };
    // Where options end at the first operand, that is the script, whatever follows.
    if words.late && operands != Operands::Jq {
        return None;
    }
    // `-e` of sed; without it, the first operand is the script.
    let values = words.values.iter().filter(|(name, _)| name.starts_with('e'));
    let given: Vec<&str> = values.map(|(_, script)| *script).collect();
    let from = usize::from(given.is_empty());
    let first = || words.operands.first().and_then(|(word, _)| word.literal());
    let all = if from == 1 { vec![first()?] } else { given };
    all.into_iter().all(reads).then_some(from)
}
