//! Programs whose operands are a small language: find, ps, sed, awk, jq.

use super::names;
use super::words::SortedWords;
use crate::facts::paths::Directories;
use crate::facts::programs::checks::sed::sed_reaches;
use crate::shell::{Word, WordKind};

/// Tests and actions of find that print names: `alone`, or followed by a `text`.
const FIND: &[(&str, &str)] = &[
    (
        "alone",
        "-print -print0 -ls -prune -empty -depth -d -mount -xdev -not -o -or -a -and ! ( ) , \
         -readable -writable -executable -true -false -nouser -nogroup -quit -daystart -noleaf -P",
    ),
    (
        "text",
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype \
         -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid \
         -gid -links -inum -fstype -printf -newermt -used",
    ),
];

/// Returns true for `find` with start points in the workspace, tests and printing only.
pub(super) fn find(args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let is = |list: &str, text: &str| {
        FIND.iter()
            .any(|(kind, all)| *kind == list && all.split_whitespace().any(|one| one == text))
    };
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
            (false, WordKind::Literal) if is("alone", text) => true,
            (false, WordKind::Literal) if is("text", text) => {
                words.next().is_some_and(|value| value.literal().is_some())
            }
            (false, WordKind::Literal) if text == "-newer" => words
                .next()
                .and_then(Word::literal)
                .is_some_and(|file| names::readable(file, false, dirs)),
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

/// Returns the number of operands that are scripts, if every script of a sed only prints and
/// changes text.
pub(super) fn sed(words: &SortedWords<'_, '_>) -> Option<usize> {
    let scripts: Vec<&str> = words
        .values
        .iter()
        .filter(|(name, _)| matches!(*name, "e" | "expression"))
        .map(|(_, script)| *script)
        .collect();
    // Without `-e`, the first operand is the script.
    let from = usize::from(scripts.is_empty());
    let first = words.operands.first().and_then(|(word, _)| word.literal());
    let all = if from == 1 { vec![first?] } else { scripts };
    (!all.iter().any(|script| sed_reaches(script))).then_some(from)
}

/// Returns true for an awk program that can neither run, read nor write anything besides its
/// operands.
///
/// SECURITY: decided by the text alone, including strings and patterns, so that it does not depend
/// on a reading of quotes.
pub(super) fn awk(program: &str) -> bool {
    let odd = [
        "system", "getline", "ENVIRON", "ARG", "PROCINFO", "SYMTAB", "FUNCTAB", "close", "fflush",
        "@", "\\\n", "`",
    ];
    // `||` and `>=` only look like a pipe and a redirect.
    let pipes = program.replace("||", "").contains('|');
    let redirects = program.contains("print") && program.replace(">=", "").contains('>');
    !pipes && !redirects && !odd.iter().any(|word| program.contains(word))
}

/// Returns true for a jq program that reads nothing but its input.
pub(super) fn jq(program: &str) -> bool {
    let odd = [
        "env",
        "ENV",
        "import",
        "include",
        "input_filename",
        "$__",
        "get_search_list",
        "modulemeta",
    ];
    !odd.iter().any(|word| program.contains(word))
}
