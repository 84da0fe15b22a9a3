//! Home directories, and the files in them that take effect when something starts.

use super::clean::{clean, within};
use super::directories::Directories;

/// Returns the part of a path below any user's home directory; `""` for the directory itself.
#[must_use]
pub fn in_home<'p>(path: &'p str, dirs: Directories<'_>) -> Option<&'p str> {
    let below = |dir: &str| {
        let rest = path.strip_prefix(dir)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    // Root's home counts too, whichever home the call names.
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

/// Returns true for files that a shell, a login, a scheduler or a key check reads. Writing one runs
/// something or admits someone later.
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
        // `.bash*` as a pattern includes the start-up files.
        return file || directory || (below.starts_with(".bash") && below.contains(['*', '?']));
    }
    let cron =
        ["/var/spool/cron", "/etc", "/usr/lib/systemd", "/lib/systemd", "/Library/LaunchDaemons"];
    cron.iter().any(|dir| within(&path, dir)) || name == "authorized_keys"
}
