//! The workspace, and the paths that belong to the system.

use std::borrow::Cow;

use super::clean::{clean, is_plain, within};
use super::directories::Directories;

/// Returns true when the path is outside the project; an unknown directory counts as outside.
#[must_use]
pub fn outside(path: &str, dirs: Directories<'_>) -> bool {
    // Fast path: most paths are plain relative ones.
    let workspace = workspace(dirs);
    let rooted = workspace.as_ref().is_some_and(|cwd| cwd.starts_with('/'));
    if rooted && !path.starts_with(['/', '~']) && is_plain(path) {
        return false;
    }
    let path = clean(path, dirs);
    match workspace {
        Some(cwd) => !within(&path, &cwd),
        None => path.starts_with(['/', '~']) || path == ".." || path.starts_with("../"),
    }
}

/// Returns the working directory, unless it belongs to the system or holds programs. An agent that
/// was started there has not been given that folder to work in.
#[must_use]
pub fn workspace(dirs: Directories<'_>) -> Option<Cow<'_, str>> {
    let cwd = clean(dirs.cwd.filter(|cwd| !cwd.is_empty())?, Directories::default());
    // A folder above the home directory holds everything that the user has.
    let holds_homes = dirs.home.is_some_and(|home| home != cwd && within(home, &cwd));
    let is_root_home = cwd == "/root" && dirs.home.is_some_and(|home| home != "/root");
    let of_programs = cwd.ends_with("/bin") || cwd.ends_with("/sbin") || cwd.ends_with("/libexec");
    let is_none = holds_homes
        || is_root_home
        || of_programs
        || SHARED.contains(&&*cwd)
        || SYSTEM.iter().any(|dir| within(&cwd, dir) && !within(&cwd, "/usr/local/src"));
    (!is_none).then_some(cwd)
}

/// Folders that many users share; workspaces may be below them.
const SHARED: &[&str] = &[
    "/",
    "/home",
    "/Users",
    "/opt",
    "/var",
    "/var/lib",
    "/var/www",
    "/srv",
    "/mnt",
    "/media",
    "/tmp",
    "/var/tmp",
    "/private",
    "/private/tmp",
    "/Volumes",
    "/export",
    "/export/home",
];

/// Folders of the system, including everything below them.
const SYSTEM: &[&str] = &[
    "/usr",
    "/etc",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/lib32",
    "/boot",
    "/sys",
    "/proc",
    "/dev",
    "/System",
    "/Library",
    "/Applications",
    "/private/etc",
    "/nix",
    "/snap",
];

/// Returns true for temporary files and for devices that store nothing.
#[must_use]
pub fn scratch(path: &str) -> bool {
    let path = clean(path, Directories::default());
    // Not the folder itself: deleting `/tmp` is no clean-up.
    let below = |dir: &str| within(&path, dir) && path != dir;
    below("/tmp") || below("/var/tmp") || below("/private/tmp") || sink(&path)
}

/// Returns true for devices that store nothing, and for the tool's own output.
///
/// The output is the only descriptor with a name here. If a text binds it to a file, the redirect
/// that does so counts as a write to that file.
#[must_use]
pub fn sink(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/zero" | "/dev/full" | "/dev/stdout" | "/dev/stderr")
}

/// Returns true for devices that hold no data, and for the tool's own input.
#[must_use]
pub fn source(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/zero" | "/dev/stdin")
}

/// Returns true for directories of the operating system.
#[must_use]
pub fn system(path: &str) -> bool {
    const DIRECTORIES: [&str; 20] = [
        "/etc",
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib64",
        "/lib32",
        "/boot",
        "/opt",
        "/sys",
        "/proc",
        "/dev",
        "/var",
        "/srv",
        "/System",
        "/Library",
        "/Applications",
        "/private/etc",
        "/private/var",
        "/run",
    ];
    if !path.starts_with('/') {
        return false;
    }
    let path = clean(path, Directories::default());
    DIRECTORIES.iter().any(|dir| within(&path, dir))
        && !scratch(&path)
        && !within(&path, "/usr/local/src")
}
