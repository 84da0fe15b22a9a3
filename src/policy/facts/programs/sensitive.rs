//! Paths that matter wherever they are named: roots and homes, secrets, devices.

use std::borrow::Cow;

use crate::facts::paths::{self, Directories};
use crate::facts::programs::{Words, begins, listed};
use crate::shell::{Word, WordKind};

/// Directories without home and workspace, for checks that apply everywhere.
pub(crate) const NOWHERE: Directories<'static> = Directories { cwd: None, home: None };

/// Returns true for a device that stores or transmits data.
pub(crate) fn device(path: &str) -> bool {
    path.starts_with("/dev/") && !paths::sink(path)
}

/// Returns true for a disk or partition.
pub(crate) fn raw_device(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    begins("sd hd vd xvd nvme disk rdisk mmcblk mapper/ md dm- mem kmem port loop", name)
}

/// The folders of a home that hold most of what a user has.
const HOME_FOLDERS: Words = "\
    Documents Desktop Downloads Pictures Library .ssh .config .gnupg .local .aws .kube .*";

/// Returns true for a root, any user's home, a directory of the system, the workspace itself or
/// above it, or a path that is known only at run time.
pub(crate) fn vast(word: &Word<'_>) -> bool {
    let text = &*word.text;
    let Some(path) = cleaned(word) else { return true };
    let path = path.trim_end_matches(['/', '*']).trim_end_matches("/.");
    if everything(word) || path.is_empty() || path == "." || path.starts_with("..") || path == "~" {
        return true;
    }
    // `/{bin,etc}` and `~/{a,b}` expand to several paths, one of which may be vast.
    if word.kind == WordKind::Dynamic && text.contains('{') && text.starts_with(['/', '~']) {
        return true;
    }
    if let Some(below) = paths::in_home(path, Directories::default()) {
        return below.is_empty() || listed(HOME_FOLDERS, below);
    }
    if listed("/home /Users /root /mnt /media /Volumes /tmp /var/tmp", path) {
        return true;
    }
    let mut deep = "/etc /boot /bin /sbin /lib /lib64 /sys /proc /dev /usr/bin /usr/lib".split(' ');
    // Below two levels there are usually single files, except in the folders of `deep`.
    paths::system(path)
        && (path.matches('/').count() <= 2 || deep.any(|dir| paths::within(path, dir)))
}

/// Returns true for `*`, `./*`, `.`, `.[!.]*` and the like.
pub(crate) fn everything(word: &Word<'_>) -> bool {
    let text = &*word.text;
    let nameless = text.contains('*') && !text.starts_with('/') && !text.contains(NAMED);
    matches!(text, "." | "./" | "./." | ".." | "../") || nameless
}

/// Characters other than those of a pattern that matches almost any name.
const NAMED: fn(char) -> bool = |c| !"*?.[]!/".contains(c);

/// Returns true for a word that names a secret, or a folder that holds some.
pub(crate) fn secret_word(word: &Word<'_>) -> bool {
    // Skip options, and words too plain to name a secret.
    let text = &*word.text;
    let path_like = text.bytes().any(|b| matches!(b, b'.' | b'/' | b'~' | b'$' | b'_'));
    if text.starts_with('-') || !path_like && text.len() < 6 {
        return false;
    }
    let path = match paths::of_word(word, NOWHERE) {
        Some(path) => path,
        None => Cow::Borrowed(text),
    };
    guarded(&path)
}

/// Returns true for a secret, or a directory that holds secrets.
pub(crate) fn guarded(path: &str) -> bool {
    let clean = paths::clean(path, NOWHERE);
    let below = paths::in_home(&clean, NOWHERE).unwrap_or_default();
    paths::secret(path, NOWHERE)
        || matches!(below, ".ssh" | ".aws" | ".gnupg" | ".kube" | ".config" | ".docker")
        || paths::within(&clean, "/etc") && !clean.ends_with("/hosts")
}

/// Replaces the home directory's variable by `~`.
pub(crate) fn expand(path: &str) -> String {
    path.replacen("$HOME", "~", 1).replacen("${HOME}", "~", 1)
}

/// Returns the path that an operand stands for; `~` is any home.
pub(crate) fn cleaned<'w>(word: &'w Word<'_>) -> Option<Cow<'w, str>> {
    Some(match paths::of_word(word, NOWHERE)? {
        Cow::Borrowed(path) => paths::clean(path, NOWHERE),
        Cow::Owned(path) => Cow::Owned(paths::clean(&path, NOWHERE).into_owned()),
    })
}
