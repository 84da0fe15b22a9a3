//! Roots, homes and system folders that are moved away, opened or given to others.

use crate::facts::paths::{self, Directories};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::sensitive::{cleaned, everything, vast};
use crate::shell::{Word, WordKind};

/// Returns true when mv discards a file, or moves a root, a home or a system folder.
pub(crate) fn moves_away(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let from = words.get(..words.len().saturating_sub(1)).unwrap_or_default();
    // A file moved to `/dev/null` is gone.
    words.last().is_some_and(|to| to.text == "/dev/null")
        || from.iter().any(|word| vast(word) && !everything(word))
}

/// Returns true when rsync deletes files of such a folder that the source lacks.
pub(crate) fn empties(args: &Arguments<'_, '_>) -> bool {
    let deletes = args.any(|text| text.starts_with("--delete") || text == "--del");
    deletes && args.named().last().is_some_and(|to| vast(to))
}

/// Checks chmod.
pub(crate) fn modes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let words = args.named();
    let files = words.get(1..).unwrap_or_default();
    let guarded = opens(&words) && paths(files).any(|path| paths::within(&path, "/etc"));
    whole(args, files).or(guarded.then_some(SYSTEM)).or_else(|| {
        words
            .first()
            .is_some_and(|mode| gives_rights(&mode.text))
            .then_some("sets the set-user-id bit")
    })
}

/// Checks chown, chgrp and chcon, whose first operand is not a file.
pub(crate) fn owners(args: &Arguments<'_, '_>) -> Option<&'static str> {
    others(args, args.named().get(1..).unwrap_or_default())
}

/// Checks setfacl and chattr.
pub(crate) fn attributes(args: &Arguments<'_, '_>) -> Option<&'static str> {
    others(args, &args.named())
}

const SYSTEM: &str = "changes the rights of a file of the system";

fn others(args: &Arguments<'_, '_>, files: &[&Word<'_>]) -> Option<&'static str> {
    let guarded = paths(files)
        .any(|path| paths::within(&path, "/etc") || paths::secret(&path, Directories::default()));
    whole(args, files).or(guarded.then_some(SYSTEM))
}

/// Returns a reason when everything below a root, a home or a system folder changes.
fn whole(args: &Arguments<'_, '_>, files: &[&Word<'_>]) -> Option<&'static str> {
    let shortened = |text: &str| text.len() > 3 && "--recursive".starts_with(text);
    let recursive = args.flag("R") || args.any(shortened);
    let known = |w: &Word<'_>| vast(w) && !everything(w) && w.kind != WordKind::Dynamic;
    (recursive && files.iter().any(|w| known(w) || home_variable(w)))
        .then_some("changes the rights of a root, a home or a system directory")
}

fn paths(files: &[&Word<'_>]) -> impl Iterator<Item = String> {
    files.iter().filter_map(|word| cleaned(word)).map(|path| path.into_owned())
}

fn gives_rights(mode: &str) -> bool {
    mode.contains("+s")
        || mode.contains("=s")
        || mode.len() == 4
            && mode.starts_with(['2', '4', '6', '7'])
            && mode.bytes().all(|b| b.is_ascii_digit())
}

/// Returns true for a mode that lets others write or read: `666`, `777`, `o+w`, `a+rwx`.
fn opens(words: &[&Word<'_>]) -> bool {
    words.first().is_some_and(|w| {
        let mode = &*w.text;
        // The last digit is for others; 0 gives them nothing.
        let octal = mode.bytes().all(|b| b.is_ascii_digit()) && !mode.ends_with('0');
        octal
            || mode.contains("o+")
            || mode.contains("a+")
            || mode.starts_with('+')
            || mode.contains("+w")
    })
}

fn home_variable(word: &Word<'_>) -> bool {
    matches!(&*word.text, "$HOME" | "${HOME}" | "$HOME/" | "~" | "~/")
}
