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
    Documents Desktop Downloads Pictures Library .ssh .config .gnupg .local .aws .kube";

/// Returns true for a root, any user's home, a directory of the system, the workspace itself or
/// above it, or a path that is known only at run time.
pub(crate) fn vast(word: &Word<'_>) -> bool {
    let text = &*word.text;
    let Some(whole) = cleaned(word) else { return true };
    let path = whole.trim_end_matches(['/', '*']).trim_end_matches("/.");
    if everything(word) || path.is_empty() || path == "." || path.starts_with("..") || path == "~" {
        return true;
    }
    // `/{bin,etc}` and `~/{a,b}` expand to several paths, one of which may be vast.
    if word.kind == WordKind::Dynamic && text.contains('{') && text.starts_with(['/', '~']) {
        return true;
    }
    // Nobody types `/us?` or `/[a-z]*` for less than that.
    let top = whole.strip_prefix('/').and_then(|path| path.split('/').next());
    if top.is_some_and(paths::is_pattern) {
        return true;
    }
    let main = |below: &str| HOME_FOLDERS.split(' ').any(|main| paths::may_be_name(below, main));
    if let Some(below) = paths::in_home(path, Directories::default()) {
        let whole = paths::in_home(&whole, Directories::default()).unwrap_or_default();
        return below.is_empty() || main(below) || main(whole);
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
    let nameless = text.contains('*') && !text.starts_with('/') && is_nameless(text);
    matches!(text, "." | "./" | "./." | ".." | "../") || nameless
}

/// Returns true for a pattern that says next to nothing of a name: `*`, `?*`, `[!x]*`.
pub(crate) fn is_nameless(pattern: &str) -> bool {
    let mut parts = pattern.split('[');
    let plain = |text: &str| text.bytes().all(|byte| b"*?./".contains(&byte));
    // A class ends at its first bracket, or behind that.
    parts.next().is_some_and(plain)
        && parts.all(|part| plain(part.rsplit(']').next().unwrap_or(part)))
}

/// Returns true for git's folder, and for the parts of it that hold commits and branches.
pub(crate) fn history(word: &Word<'_>) -> bool {
    let Some(path) = cleaned(word) else { return false };
    let mut parts = path.rsplit('/');
    let last = parts.next().unwrap_or_default();
    // A wildcard stands for no dot at the beginning.
    let git = |part: &str| part.starts_with('.') && paths::may_be_name(part, ".git");
    let kept = |part: &str| KEPT.split(' ').any(|kept| paths::may_be_name(part, kept));
    git(last) || parts.next().is_some_and(git) && kept(last)
}

const KEPT: Words = "objects refs logs lfs modules packed-refs";

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
