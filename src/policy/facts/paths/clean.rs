//! Paths in one form.

use std::borrow::Cow;

use super::directories::Directories;
use crate::shell::{Word, WordKind};

/// The path that a word names, home expanded where it is known; `None` when only the shell will
/// know.
#[must_use]
pub fn of_word<'w>(word: &'w Word<'_>, dirs: Directories<'_>) -> Option<Cow<'w, str>> {
    let text = &*word.text;
    let rest = match word.kind {
        WordKind::Literal => return Some(Cow::Borrowed(text)),
        WordKind::Glob if !text.starts_with(['*', '?', '[']) => return Some(Cow::Borrowed(text)),
        WordKind::Glob => return None,
        WordKind::Home => text.strip_prefix('~'),
        WordKind::Dynamic => ["$HOME", "${HOME}", "~"]
            .iter()
            .find_map(|home| text.strip_prefix(home))
            .filter(|rest| {
                !rest.contains(['$', '`', '{']) && (rest.is_empty() || rest.starts_with('/'))
            }),
    }?;
    Some(Cow::Owned(format!("{}{rest}", dirs.home.unwrap_or("~"))))
}

/// `~`, `~/…` and `$HOME/…` in front; without a home all of them become `~`.
pub fn expand_home<'t>(text: &'t str, home: Option<&str>) -> Cow<'t, str> {
    let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|name| text.strip_prefix(name));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.unwrap_or("~").trim_end_matches('/')).into()
        }
        _ => text.into(),
    }
}

/// The path without `.`, `..` and doubled slashes, from the root where the working directory is
/// known. What lies in a home directory (any user's) keeps its full form.
#[must_use]
pub fn clean<'p>(path: &'p str, dirs: Directories<'_>) -> Cow<'p, str> {
    let expanded: Cow<'p, str> = match (path.strip_prefix('~'), dirs.home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            format!("{home}{rest}").into()
        }
        _ if path.starts_with(['/', '~']) => path.into(),
        _ => match dirs.cwd {
            Some(cwd) => [cwd, "/", path].concat().into(),
            None => path.into(),
        },
    };
    if is_plain(&expanded) {
        return expanded;
    }
    let absolute = expanded.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in expanded.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => ["/", &joined].concat().into(),
        (false, true) => ".".into(),
        (false, false) => joined.into(),
    }
}

/// Clean already, as most paths are; false for those with dot files too.
pub(super) fn is_plain(path: &str) -> bool {
    let below = path.strip_prefix('/').unwrap_or(path).as_bytes();
    let plain_ends = !matches!(below, [] | [b'/' | b'.', ..] | [.., b'/']);
    plain_ends && !below.windows(2).any(|pair| matches!(pair, [b'/', b'/' | b'.']))
}

/// `path` is `dir` or lies below it; both cleaned.
#[must_use]
pub fn within(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || dir == "/")
}
