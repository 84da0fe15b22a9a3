//! Words that name files, and words that are only printed.

use crate::facts::paths::{self, Directories, PatternOf};
use crate::shell::{Word, WordKind};

/// Returns true when a word is only printed: it names no foreign file. The variables of the
/// environment in it are looked at for the command as a whole.
pub(super) fn said(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    match word.kind {
        WordKind::Literal | WordKind::Home => true,
        WordKind::Glob => named(word, false, false, dirs),
        WordKind::Dynamic => {
            // These two are variables, although they contain glob characters.
            let names = word.text.replace("$?", "").replace("$*", "");
            !names.contains(['*', '?', '['])
        }
    }
}

/// Returns true when the word names a file or folder of the workspace.
pub(super) fn named(word: &Word<'_>, shows: bool, guarded: bool, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    match word.kind {
        // The standard input.
        WordKind::Literal if text == "-" => true,
        WordKind::Literal if !shows => readable(text, false, dirs),
        // SECURITY: `@file` is a list of options to some programs, which may name any file.
        WordKind::Literal => !text.starts_with('@') && opened(text, dirs),
        WordKind::Home => {
            paths::of_word(word, dirs).is_some_and(|path| readable(&path, shows, dirs))
        }
        WordKind::Glob => {
            // A file whose name starts with a dash acts as an option; `.*` also matches the parent
            // folder.
            let first = text.starts_with(['*', '?', '[', '-', '@']);
            let hidden =
                text.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']));
            !(guarded && first || text.starts_with('-') || hidden)
                && readable(text, shows, dirs)
                && !(shows && paths::may_be_secret(text, PatternOf::Files))
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

/// Returns true when a pattern that a program reads itself stays in the workspace and matches no
/// secret.
pub(super) fn selects(pattern: &str, of: PatternOf, dirs: Directories<'_>) -> bool {
    let plain = !pattern.contains(['*', '?', '[', '{', '(', '\\']);
    readable(pattern, true, dirs) && (plain || !paths::may_be_secret(pattern, of))
}

/// Returns true when a word shows no secret: neither as it is, nor behind the colon of a revision
/// or the magic of a pathspec (`HEAD:.env`, `:(glob)**/.en?`), of which git expands the wildcards.
pub(super) fn opened(text: &str, dirs: Directories<'_>) -> bool {
    let behind = text.rsplit_once(':').is_none_or(|(_, path)| {
        let magic = path.strip_prefix('(').and_then(|magic| magic.split_once(')'));
        selects(magic.map_or(path, |(_, path)| path), PatternOf::Search, dirs)
    });
    behind && selects(text, PatternOf::Search, dirs)
}
