//! Words that name files, and words that are only printed.

use crate::facts::paths::{self, Directories};
use crate::glob::Glob;
use crate::shell::{Word, WordKind, environment};

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

/// Names of secrets that a file name pattern may match.
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

/// Returns true when a word is only printed: it names no foreign file and no variable that may hold
/// a secret.
pub(super) fn said(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    match word.kind {
        WordKind::Literal | WordKind::Home => true,
        WordKind::Glob => named(word, false, false, dirs),
        WordKind::Dynamic => {
            // These two are variables, although they contain glob characters.
            let names = word.text.replace("$?", "").replace("$*", "");
            !names.contains(['*', '?', '[']) && variables(&word.text)
        }
    }
}

/// Returns true when the word names a file or folder of the workspace.
pub(super) fn named(word: &Word<'_>, shows: bool, guarded: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    match word.kind {
        // `-` is the standard input.
        WordKind::Literal => text == "-" || readable(text, shows, dirs),
        WordKind::Home => {
            paths::of_word(word, dirs).is_some_and(|path| readable(&path, shows, dirs))
        }
        WordKind::Glob => {
            // A file whose name starts with a dash acts as an option; `.*` also matches the parent
            // folder.
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

/// Returns true when a path stays in the workspace and, where its content is shown, is not a
/// secret.
pub(super) fn readable(path: &str, shows: bool, dirs: Directories<'_>) -> bool {
    let cleaned = paths::clean(path, dirs);
    paths::source(path)
        || !paths::outside(path, dirs)
            && !path.contains('\0')
            // Cleaning may change the name, so both spellings are checked.
            && !(shows && (paths::secret(&cleaned, dirs) || paths::secret(path, dirs)))
}

/// Returns true when the last part of a name pattern matches usual names of secrets.
pub(super) fn may_be_secret(pattern: &str) -> bool {
    let last = pattern.rsplit('/').next().unwrap_or(pattern);
    match Glob::parse(last) {
        Ok(glob) => SECRETS.iter().any(|name| {
            // A shell's `*` does not match hidden files.
            let hidden = name.starts_with('.') && !last.starts_with('.');
            !hidden && glob.reaches(name)
        }),
        // A pattern that cannot be read may match a secret.
        Err(_) => true,
    }
}

/// Returns true when every variable in a word is the script's own or known to hold no secret.
fn variables(text: &str) -> bool {
    let name = |rest: &str| -> String {
        let part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        rest.trim_start_matches(['{', '#']).chars().take_while(part).collect()
    };
    text.match_indices('$').all(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        // A substitution holds a command, which is checked on its own.
        let other = rest.is_empty()
            || !rest.starts_with(|c: char| c == '{' || c == '_' || c.is_ascii_alphanumeric());
        other || !rest.starts_with("{!") && shown(&name(rest))
    })
}

/// Returns true when printing this variable reveals no secret.
pub(super) fn shown(name: &str) -> bool {
    let own = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    SHOWN.contains(&name)
        || own && !name.is_empty() && environment::harmless(name, None)
        || name.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty()
}
