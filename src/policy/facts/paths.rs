//! Paths: their location, and the kind of file. Lexical; the file system is never consulted.

mod readings;
mod secrets;

use std::borrow::Cow;
use std::sync::LazyLock;

pub(crate) use crate::facts::paths::readings::{UNKNOWN, braces, decoded, readings};
pub use crate::facts::paths::secrets::{
    PatternOf, is_folder_of_secrets, is_folder_of_settings, keeps_secrets, may_be_secret, secret,
};
pub(crate) use crate::facts::paths::secrets::{is_pattern, may_be_name};
use crate::shell::{Word, WordKind, is_visible};
use crate::words::{Words, listed};

/// The directories of a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directories<'p> {
    /// The working directory, which is also the workspace.
    pub cwd: Option<&'p str>,
    /// The home directory.
    pub home: Option<&'p str>,
}

// Normal form of paths.

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

/// Returns the path as a file system spells it that ignores case and invisible characters: there
/// `MAKEFILE`, `ma\u{212a}efile` with the sign of Kelvin and `make\u{200b}file` are one file.
#[must_use]
pub(crate) fn folded(path: &str) -> Cow<'_, str> {
    if path.is_ascii() {
        let is_folded = !path.bytes().any(|byte| byte.is_ascii_uppercase());
        return if is_folded { path.into() } else { path.to_ascii_lowercase().into() };
    }
    let seen = path.chars().filter(|c| c.is_ascii() || is_visible(c.encode_utf8(&mut [0; 4])));
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect::<String>().into()
}

/// Returns true when the path is clean already, as most are; false also for paths with dot files.
fn is_plain(path: &str) -> bool {
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

// The workspace, and the paths that belong to the system.

/// Returns true when the path is outside the project; an unknown directory counts as outside.
#[must_use]
pub fn outside(path: &str, dirs: Directories<'_>) -> bool {
    // Fast path: most paths are plain relative ones.
    let workspace = workspace(dirs);
    let rooted = workspace.as_ref().is_some_and(|cwd| cwd.starts_with('/'));
    if rooted && !path.starts_with(['/', '~']) && is_plain(path) {
        return false;
    }
    if may_climb(path) {
        return true;
    }
    let path = clean(path, dirs);
    match workspace {
        Some(cwd) => !within(&path, &cwd),
        None => path.starts_with(['/', '~']) || path == ".." || path.starts_with("../"),
    }
}

/// Returns true when `..` follows a wildcard: `**` may stand for no folder at all, and any wildcard
/// for a link, so nobody knows where `src/**/../../x` leads.
fn may_climb(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| part.contains(['*', '?', '['])) && parts.any(|part| part == "..")
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
        || is_folder_of_secrets(&cwd)
        || listed(SHARED, &cwd)
        || SYSTEM.iter().any(|dir| is_below(&cwd, dir) && !within(&cwd, "/usr/local/src"));
    (!is_none).then_some(cwd)
}

/// Folders that many users share; workspaces may be below them.
const SHARED: Words = "\
    / /home /Users /opt /var /var/lib /var/www /srv /mnt /media /tmp /var/tmp /private \
    /private/tmp /Volumes /export /export/home";

/// Folders of the system, including everything below them.
static SYSTEM: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "/usr /etc /bin /sbin /lib /lib64 /lib32 /boot /sys /proc /dev /run /var/run /var/spool \
     /var/db /System /Library /Applications /private/etc /private/var/db /nix /snap"
        .split(' ')
        .collect()
});

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
    const DIRECTORIES: Words = "\
        /etc /usr /bin /sbin /lib /lib64 /lib32 /boot /opt /sys /proc /dev /var /srv /System \
        /Library /Applications /private/etc /private/var /run";
    if !path.starts_with('/') {
        return false;
    }
    let path = clean(path, Directories::default());
    DIRECTORIES.split(' ').any(|dir| is_below(&path, dir))
        && !scratch(&path)
        && !within(&path, "/usr/local/src")
}

// Home directories, and the files in them that take effect when something starts.

/// Returns the part of a path below any user's home directory; `""` for the directory itself.
#[must_use]
pub fn in_home<'p>(path: &'p str, dirs: Directories<'_>) -> Option<&'p str> {
    let below = |dir: &str| {
        let rest = strip_prefix(path, dir)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    // Root's home counts too, whichever home the call names.
    if let Some(rest) = dirs.home.and_then(below).or_else(|| below("~")).or_else(|| below("/root"))
    {
        return Some(rest);
    }
    for homes in ["/home/", "/Users/", "/export/home/"] {
        if let Some(rest) = strip_prefix(path, homes).filter(|rest| !rest.is_empty()) {
            return Some(
                rest.split_once('/').map_or("", |(_, below)| below.trim_start_matches('/')),
            );
        }
    }
    None
}

/// Strips a folder that the system knows, in whatever case: some file systems ignore it.
fn strip_prefix<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let (start, rest) = path.split_at_checked(folder.len())?;
    start.eq_ignore_ascii_case(folder).then_some(rest)
}

/// Returns true for such a folder, and for what is below it.
fn is_below(path: &str, folder: &str) -> bool {
    // Most folders are no such one by their length.
    matches!(path.as_bytes().get(folder.len()), None | Some(b'/'))
        && strip_prefix(path, folder).is_some()
}

/// Files below a home, and folders in which every file counts, that are read when something starts.
const START_FILES: Words = "\
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile \
    .zlogin .zlogout .kshrc .cshrc .tcshrc .login .xinitrc .xprofile .xsession .xsessionrc \
    .inputrc .gitconfig .vimrc .emacs .pam_environment .npmrc .screenrc .tmux.conf \
    .config/fish/config.fish .config/git/config .pythonrc .pdbrc .gdbinit .rprofile .irbrc .envrc";
const START_FOLDERS: Words = "\
    .ssh .config/systemd .config/autostart .config/fish library/launchagents .config/git \
    .local/share/systemd .oh-my-zsh .bashrc.d .zsh .config/zsh .config/nvim .vim .emacs.d \
    .local/bin bin .cargo/bin .cargo/config.toml .config/environment.d .gnupg";

/// Returns true for files that a shell, a login, a scheduler or a key check reads. Writing one runs
/// something or admits someone later.
#[must_use]
pub fn startup(path: &str, dirs: Directories<'_>) -> bool {
    let path = clean(path, dirs);
    let name = path.rsplit('/').next().unwrap_or(&path);
    if let Some(below) = in_home(&path, dirs) {
        let below = &*folded(below);
        let file = listed(START_FILES, below);
        let directory = START_FOLDERS.split(' ').any(|dir| within(below, dir));
        // `.bash*` as a pattern includes the start-up files.
        return file || directory || (below.starts_with(".bash") && below.contains(['*', '?']));
    }
    let cron =
        ["/var/spool/cron", "/etc", "/usr/lib/systemd", "/lib/systemd", "/Library/LaunchDaemons"];
    cron.iter().any(|dir| is_below(&path, dir)) || name.eq_ignore_ascii_case("authorized_keys")
}

#[cfg(test)]
mod tests {
    use crate::facts::paths::*;

    const AT: Directories<'_> = Directories { cwd: Some("/home/me/work"), home: Some("/home/me") };

    #[test]
    fn paths_are_cleaned_from_the_working_directory() {
        for (path, cleaned) in [
            ("a/./b//c", "/home/me/work/a/b/c"),
            ("../../x", "/home/x"),
            ("~/x", "/home/me/x"),
            ("/a/../../b", "/b"),
            (".", "/home/me/work"),
        ] {
            assert_eq!(clean(path, AT), cleaned);
        }
        assert_eq!(clean("a/../..", Directories::default()), "..");
    }

    #[test]
    fn outside_is_what_does_not_lie_below_the_workspace() {
        for path in [
            "../x",
            "/etc/passwd",
            "~/.bashrc",
            "/home/me/worker",
            "a/../../x",
            "a/**/../../x",
            "a/*/../x",
        ] {
            assert!(outside(path, AT), "{path}");
        }
        for path in ["x", "./a/../b", "/home/me/work/x", "~/work/x", "a/../b/**/*.rs"] {
            assert!(!outside(path, AT), "{path}");
        }
        assert!(outside("../x", Directories::default()) && !outside("x", Directories::default()));
    }

    #[test]
    fn folders_of_the_system_and_of_programs_are_no_workspace() {
        let at = |cwd| Directories { cwd: Some(cwd), home: Some("/home/me") };
        for cwd in [
            "/",
            "//",
            "/.",
            "/root/..",
            "///",
            "/usr",
            "/usr/local",
            "/usr/local/",
            "/usr/./local",
            "/etc",
            "/etc/nginx",
            "/bin",
            "/opt",
            "/var",
            "/home",
            "/home/me/..",
            "/root",
            "/run/secrets",
            "/var/run/secrets/x",
            "/home/me/.ssh",
            "/home/me/.password-store/x",
            "/home/me/Library/Keychains",
            "/home/me/.local/bin",
            "/home/me/.cargo/bin",
            "/tmp",
        ] {
            assert_eq!(workspace(at(cwd)), None, "{cwd}");
            assert!(outside("bin/git", at(cwd)), "{cwd}");
            assert!(outside("/usr/local/bin/git", at(cwd)), "{cwd}");
        }
        for cwd in ["/home/me", "/home/me/work", "/opt/shop", "/srv/shop/", "/tmp/x", "/var/www/x"]
        {
            assert!(!outside("bin/git", at(cwd)), "{cwd}");
        }
    }

    #[test]
    fn secrets_and_startup_files_are_known_by_place_and_name() {
        for path in [
            "~/.ssh/id_rsa",
            ".env",
            "x/.env.local",
            "~/.aws/credentials",
            "/etc/shadow",
            "~/.bash_history",
        ] {
            assert!(secret(path, AT), "{path}");
        }
        for path in ["~/.ssh/id_rsa.pub", ".env.example", "src/main.rs", "~/.ssh/config"] {
            assert!(!secret(path, AT), "{path}");
        }
        for path in ["~/.ZSHRC", "/ETC/cron.d/x", "~/.ba\u{17f}hrc"] {
            assert!(startup(path, AT), "{path}");
        }
        for path in ["~/.bashrc", "/root/.ssh/authorized_keys", "/etc/cron.d/x", "/home/you/.zshrc"]
        {
            assert!(startup(path, AT), "{path}");
        }
        assert!(
            !startup("notes.txt", AT)
                && crate::facts::obeyed::runs_later(".git/hooks/pre-commit")
                && !crate::facts::obeyed::runs_later("src/git.rs")
        );
    }
}
