//! Normal form of paths.

use std::borrow::Cow;

use super::directories::Directories;
use crate::shell::{Word, WordKind};

/// Returns the path that a word names, with the home directory expanded where it is known. Returns
/// `None` when only the shell knows the path.
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
            // `$HOMEDIR` or `$HOME$x` may be any path.
            .filter(|rest| {
                !rest.contains(['$', '`', '{']) && (rest.is_empty() || rest.starts_with('/'))
            }),
    }?;
    Some(Cow::Owned(format!("{}{rest}", dirs.home.unwrap_or("~"))))
}

/// Expands a leading `~`, `~/…` or `$HOME/…`; without a home directory each becomes `~`.
pub fn expand_home<'t>(text: &'t str, home: Option<&str>) -> Cow<'t, str> {
    let rest = ["~", "$HOME", "${HOME}"].iter().find_map(|name| text.strip_prefix(name));
    match rest {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.unwrap_or("~").trim_end_matches('/')).into()
        }
        _ => text.into(),
    }
}

/// Returns the path without `.`, `..` and repeated slashes, and absolute where the working
/// directory is known. A path in a home directory (of any user) keeps its full form.
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
    // Nearly all paths are clean already; this saves splitting and joining them.
    if is_plain(&expanded) {
        return expanded;
    }
    let absolute = expanded.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in expanded.split('/') {
        match part {
            "" | "." => {}
            // A leading `..` of a relative path stays, because its parent is unknown.
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // Above the root is the root, as the kernel resolves it.
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

/// Returns true when the path is clean already, as most are; false also for paths with dot files.
pub(super) fn is_plain(path: &str) -> bool {
    let below = path.strip_prefix('/').unwrap_or(path).as_bytes();
    let plain_ends = !matches!(below, [] | [b'/' | b'.', ..] | [.., b'/']);
    plain_ends && !below.windows(2).any(|pair| matches!(pair, [b'/', b'/' | b'.']))
}

/// Returns true when `path` is `dir` or below it; both must be clean.
#[must_use]
pub fn within(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || dir == "/")
}
