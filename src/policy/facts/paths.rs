//! Paths: where they lie, and what kind of file stands there. Lexical; no file system is asked.

use std::borrow::Cow;

use crate::shell::{Word, WordKind};

/// Where a call happens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directories<'p> {
    /// The working directory, which is also the workspace.
    pub cwd: Option<&'p str>,
    /// The home directory.
    pub home: Option<&'p str>,
}

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
fn is_plain(path: &str) -> bool {
    let below = path.strip_prefix('/').unwrap_or(path).as_bytes();
    let plain_ends = !matches!(below, [] | [b'/' | b'.', ..] | [.., b'/']);
    plain_ends && !below.windows(2).any(|pair| matches!(pair, [b'/', b'/' | b'.']))
}

/// True when the path lies outside the workspace: unknown directories count as outside.
#[must_use]
pub fn outside(path: &str, dirs: Directories<'_>) -> bool {
    // Most paths are plain ones below the workspace.
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

/// The working directory, unless it belongs to the system or holds programs: whoever starts an
/// agent there has not given it that folder to work in.
#[must_use]
pub fn workspace(dirs: Directories<'_>) -> Option<Cow<'_, str>> {
    let cwd = clean(dirs.cwd.filter(|cwd| !cwd.is_empty())?, Directories::default());
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

/// Folders that hold the files of many; below them may be workspaces.
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

/// Folders of the system, all that is below them included.
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

/// Temporary files, and devices that keep nothing.
#[must_use]
pub fn scratch(path: &str) -> bool {
    let path = clean(path, Directories::default());
    let below = |dir: &str| within(&path, dir) && path != dir;
    below("/tmp") || below("/var/tmp") || below("/private/tmp") || sink(&path)
}

/// `/dev/null` and the standard streams.
#[must_use]
pub fn sink(path: &str) -> bool {
    matches!(
        path,
        "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/stdin" | "/dev/tty" | "/dev/zero"
    )
}

/// Directories of the operating system.
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

/// The part of a path below somebody's home directory; the directory itself is `""`.
#[must_use]
pub fn in_home<'p>(path: &'p str, dirs: Directories<'_>) -> Option<&'p str> {
    let below = |dir: &str| {
        let rest = path.strip_prefix(dir)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    if let Some(rest) = dirs.home.and_then(below).or_else(|| below("~")).or_else(|| below("/root"))
    {
        return Some(rest);
    }
    for homes in ["/home/", "/Users/", "/export/home/"] {
        if let Some(rest) = path.strip_prefix(homes).filter(|rest| !rest.is_empty()) {
            return Some(
                rest.split_once('/').map_or("", |(_, below)| below.trim_start_matches('/')),
            );
        }
    }
    None
}

/// Files that a shell, a login, a scheduler or a key check reads: writing one runs or admits
/// something later.
#[must_use]
pub fn startup(path: &str, dirs: Directories<'_>) -> bool {
    let path = clean(path, dirs);
    let name = path.rsplit('/').next().unwrap_or(&path);
    if let Some(below) = in_home(&path, dirs) {
        let file = matches!(
            below,
            ".bashrc"
                | ".bash_profile"
                | ".bash_login"
                | ".bash_logout"
                | ".bash_aliases"
                | ".profile"
                | ".zshrc"
                | ".zshenv"
                | ".zprofile"
                | ".zlogin"
                | ".zlogout"
                | ".kshrc"
                | ".cshrc"
                | ".tcshrc"
                | ".login"
                | ".xinitrc"
                | ".xprofile"
                | ".xsession"
                | ".xsessionrc"
                | ".inputrc"
                | ".gitconfig"
                | ".vimrc"
                | ".emacs"
                | ".pam_environment"
                | ".npmrc"
                | ".screenrc"
                | ".tmux.conf"
                | ".config/fish/config.fish"
                | ".config/git/config"
                | ".pythonrc"
                | ".pdbrc"
                | ".gdbinit"
                | ".Rprofile"
                | ".irbrc"
                | ".envrc"
        );
        let directory = [
            ".ssh",
            ".config/systemd",
            ".config/autostart",
            ".config/fish",
            "Library/LaunchAgents",
            ".config/git",
            ".local/share/systemd",
            ".oh-my-zsh",
            ".bashrc.d",
            ".zsh",
            ".config/zsh",
            ".config/nvim",
            ".vim",
            ".emacs.d",
            ".local/bin",
            "bin",
            ".cargo/bin",
            ".cargo/config.toml",
            ".config/environment.d",
            ".gnupg",
        ]
        .iter()
        .any(|dir| {
            below.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        return file || directory || (below.starts_with(".bash") && below.contains(['*', '?']));
    }
    let cron =
        ["/var/spool/cron", "/etc", "/usr/lib/systemd", "/lib/systemd", "/Library/LaunchDaemons"];
    cron.iter().any(|dir| within(&path, dir)) || name == "authorized_keys"
}

/// Keys, tokens, passwords, histories.
#[must_use]
pub fn secret(path: &str, dirs: Directories<'_>) -> bool {
    let path = clean(path, dirs);
    let name = path.rsplit('/').next().unwrap_or(&path);
    let lower: Cow<'_, str> = match name.bytes().any(|b| b.is_ascii_uppercase()) {
        true => name.to_ascii_lowercase().into(),
        false => name.into(),
    };
    if lower.ends_with(".pub")
        || lower.ends_with(".example")
        || lower.ends_with(".sample")
        || lower.ends_with(".template")
        || lower.ends_with(".dist")
    {
        return false;
    }
    let key = lower.starts_with("id_rsa")
        || lower.starts_with("id_ed25519")
        || lower.starts_with("id_ecdsa")
        || lower.starts_with("id_dsa");
    let env = lower == ".env" || lower.starts_with(".env.") || lower.ends_with(".env");
    let kept = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ovpn", ".asc"]
        .iter()
        .any(|end| lower.ends_with(end));
    let named = names_a_secret(lower.as_bytes()) || lower.ends_with("_history");
    let known = matches!(
        name,
        ".netrc"
            | "_netrc"
            | ".pgpass"
            | ".git-credentials"
            | ".npmrc"
            | ".pypirc"
            | ".htpasswd"
            | ".my.cnf"
            | ".dockercfg"
            | "shadow"
            | "gshadow"
            | "sudoers"
            | "master.key"
            | ".token"
            | ".vault-token"
    );
    let kube = path.ends_with(".kube/config")
        || path.ends_with(".docker/config.json")
        || path.ends_with("gh/hosts.yml");
    let directory = || {
        path.split('/').any(|part| match part {
            ".gnupg" | ".aws" | ".azure" | "gcloud" => true,
            ".ssh" => !matches!(name, "config" | "known_hosts"),
            _ => false,
        })
    };
    key || env || kept || named || known || kube || directory()
}

/// One pass over the name, for all the words at once.
fn names_a_secret(name: &[u8]) -> bool {
    let words: [&[u8]; 4] = [b"credential", b"secret", b"password", b"token"];
    name.iter().enumerate().any(|(at, first)| {
        matches!(first, b'c' | b's' | b'p' | b't')
            && name.get(at..).is_some_and(|rest| {
                words.iter().any(|word| {
                    rest.starts_with(word) && (*first != b't' || name.starts_with(b"."))
                })
            })
    })
}

/// `path` is `dir` or lies below it; both cleaned.
#[must_use]
pub fn within(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || dir == "/")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for path in ["../x", "/etc/passwd", "~/.bashrc", "/home/me/worker", "a/../../x"] {
            assert!(outside(path, AT), "{path}");
        }
        for path in ["x", "./a/../b", "/home/me/work/x", "~/work/x"] {
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
