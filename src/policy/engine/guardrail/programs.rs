//! What programs do with the paths that they are given, as far as the guardrail cares.

use crate::facts::wrappers::base;
use crate::shell::Word;

/// What a program does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// It only says its name.
    Names,
    /// It opens that file or folder and nothing below it.
    Opens,
    /// It may go through all that lies below.
    Walks,
}

/// What the program of a command does with its operands, and whether it walks through the working
/// directory when it is given none.
pub(super) fn usage(argv: &[Word<'_>]) -> (Usage, bool) {
    let Some(name) = argv.first().and_then(Word::literal).map(base) else {
        return (Usage::Walks, false);
    };
    let words = argv.get(1..).unwrap_or_default();
    let flag = |letters: &[char], longs: &[&str]| has_flag(words, letters, longs);
    match name {
        _ if NAMES.contains(&name) => (Usage::Names, false),
        "ls" | "dir" | "vdir" => match flag(&['R'], &["--recursive"]) {
            true => (Usage::Walks, true),
            false => (Usage::Opens, false),
        },
        "grep" | "egrep" | "fgrep" | "zgrep" => {
            match flag(&['r', 'R', 'd'], &["--recursive", "--dereference", "--directories"]) {
                true => (Usage::Walks, true),
                false => (Usage::Opens, false),
            }
        }
        "cp" | "diff" | "chmod" | "chown" | "chgrp" | "rm" | "setfacl" => {
            match flag(&['r', 'R', 'a', 'd'], &["--recursive", "--archive"]) {
                true => (Usage::Walks, false),
                false => (Usage::Opens, false),
            }
        }
        "rg" | "ag" | "ack" | "find" | "gfind" | "bfind" | "fd" | "fdfind" | "tree" | "du" => {
            (Usage::Walks, true)
        }
        "git" => {
            let all = |word: &Word<'_>| {
                matches!(&*word.text, "grep" | "add" | "clean" | "stash" | "archive" | "-a" | "-am")
            };
            (Usage::Walks, words.iter().any(all))
        }
        _ if OPENS.contains(&name) => (Usage::Opens, false),
        _ => (Usage::Walks, false),
    }
}

/// A word of the options, short ones in a row too; long ones may be shortened.
fn has_flag(words: &[Word<'_>], letters: &[char], longs: &[&str]) -> bool {
    words.iter().any(|word| match word.text.strip_prefix("--") {
        Some(name) => longs.iter().any(|long| {
            let name = name.split('=').next().unwrap_or(name);
            name.len() > 1 && long.trim_start_matches('-').starts_with(name)
        }),
        None => word.text.strip_prefix('-').is_some_and(|flags| flags.contains(letters)),
    })
}

/// The word behind this one is prose, not a path (`git commit -m TEXT`).
pub(super) fn is_prose(argv: &[Word<'_>], at: usize) -> bool {
    let option = at.checked_sub(1).and_then(|before| argv.get(before));
    argv.first().and_then(Word::literal).is_some_and(|name| match base(name) {
        "git" => option.is_some_and(|o| matches!(&*o.text, "-m" | "-am" | "--message")),
        "gh" | "glab" => option.is_some_and(|o| {
            matches!(&*o.text, "-t" | "--title" | "-b" | "--body" | "-m" | "--message" | "--notes")
        }),
        _ => false,
    })
}

/// They open nothing that they are given.
const NAMES: &[&str] = &[
    ":", "[", "alias", "basename", "break", "cd", "continue", "date", "declare", "dirname", "echo",
    "exit", "export", "expr", "false", "popd", "pushd", "getopts", "kill", "let", "local",
    "printf", "read", "readonly", "return", "seq", "set", "shift", "sleep", "test", "true", "type",
    "typeset", "unalias", "unset", "wait", "which",
];

/// They open what they are given, and nothing below it.
const OPENS: &[&str] = &[
    "[[",
    "awk",
    "b2sum",
    "base32",
    "base64",
    "bat",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "dd",
    "df",
    "dos2unix",
    "expand",
    "file",
    "fmt",
    "fold",
    "gawk",
    "head",
    "hexdump",
    "iconv",
    "join",
    "jq",
    "less",
    "lsattr",
    "mawk",
    "md5sum",
    "mkdir",
    "mktemp",
    "more",
    "nl",
    "od",
    "paste",
    "pr",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rmdir",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shuf",
    "sort",
    "split",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "tee",
    "touch",
    "tr",
    "truncate",
    "uniq",
    "unlink",
    "wc",
    "xxd",
    "yq",
];
