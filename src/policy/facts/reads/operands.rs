//! What may stand where a reading program takes its operands.

use super::scripts;
use super::words::Words;
use crate::facts::paths::{self, Directories};
use crate::facts::programs::reading::Operands;
use crate::glob::Glob;
use crate::shell::{Word, WordKind};

/// Variables that hold no secret.
const SHOWN: &[&str] = &[
    "HOME",
    "PWD",
    "OLDPWD",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "PATH",
    "UID",
    "EUID",
    "PPID",
    "RANDOM",
    "SECONDS",
    "LINENO",
    "TERM",
    "LANG",
    "TZ",
    "TMPDIR",
    "EDITOR",
    "COLUMNS",
    "LINES",
    "BASH_VERSION",
    "SHLVL",
    "OSTYPE",
    "MACHTYPE",
    "CI",
    "VIRTUAL_ENV",
];

/// Names of secrets that a pattern of names may stand for.
const SECRETS: &[&str] = &[
    ".env",
    ".env.local",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    "id_rsa",
    "id_ed25519",
    "server.key",
    "server.pem",
    "prod.env",
    "credentials",
    "secrets",
];

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

/// Whether a word is only said: it names no file of others and no variable that may hold a secret.
pub(super) fn said(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    match word.kind {
        WordKind::Literal | WordKind::Home => true,
        WordKind::Glob => named(word, false, false, dirs),
        WordKind::Dynamic => {
            let names = word.text.replace("$?", "").replace("$*", "");
            !names.contains(['*', '?', '[']) && variables(&word.text)
        }
    }
}

/// A file or folder of the workspace by its name.
fn named(word: &Word<'_>, shows: bool, guarded: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    match word.kind {
        WordKind::Literal => text == "-" || readable(text, shows, dirs),
        WordKind::Home => {
            paths::of_word(word, dirs).is_some_and(|path| readable(&path, shows, dirs))
        }
        WordKind::Glob => {
            // A file whose name begins with a dash is an option; `.*` is the folder above as well.
            let first = text.starts_with(['*', '?', '[', '-']);
            let hidden =
                text.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']));
            !(guarded && first || text.starts_with('-') || hidden)
                && readable(text, shows, dirs)
                && !(shows && may_be_secret(text))
        }
        WordKind::Dynamic => false,
    }
}

/// Whether a path stays in the workspace, and is no secret where its content is shown.
pub(super) fn readable(path: &str, shows: bool, dirs: Directories<'_>) -> bool {
    let cleaned = paths::clean(path, dirs);
    paths::sink(path)
        || !paths::outside(path, dirs)
            && !path.contains('\0')
            && !(shows && (paths::secret(&cleaned, dirs) || paths::secret(path, dirs)))
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

/// A pattern of names whose last part fits what secrets are called.
fn may_be_secret(pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or(pattern);
    match Glob::parse(last) {
        Ok(glob) => SECRETS.iter().any(|name| {
            let hidden = name.starts_with('.') && !last.starts_with('.');
            !hidden && glob.reaches(name)
        }),
        Err(_) => true,
    }
}

/// Every variable that a word expands is one of the script's own, or known to hold no secret.
fn variables(text: &str) -> bool {
    let name = |rest: &str| -> String {
        let part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        rest.trim_start_matches(['{', '#']).chars().take_while(part).collect()
    };
    text.match_indices('$').all(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        // What stands in a substitution is a command of its own.
        let other = rest.is_empty()
            || !rest.starts_with(|c: char| c == '{' || c == '_' || c.is_ascii_alphanumeric());
        other || !rest.starts_with("{!") && shown(&name(rest))
    })
}

/// Printing this variable tells no secret.
fn shown(name: &str) -> bool {
    let own = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    SHOWN.contains(&name)
        || own && !name.is_empty() && crate::shell::environment::harmless(name, None)
        || name.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty()
}
