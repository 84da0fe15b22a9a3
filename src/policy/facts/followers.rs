//! Names the programs that run or follow a file of [`obeyed`](super::obeyed) without asking.

use crate::facts::excerpt::shorten;

/// The programs, each with words of which one is a part of the file's path or the end of its name.
const FOLLOWERS: &[(&str, &str)] = &[
    ("Git runs", "hooks .githooks git-hooks .husky .lefthook lefthook.yml .pre-commit-config.yaml"),
    ("Git follows", ".git git .gitattributes .gitmodules .gitconfig head"),
    ("GitHub runs", ".github"),
    ("GitLab runs", ".gitlab .gitlab-ci.yml .gitlab-ci.yaml"),
    ("CI runs", ".circleci .buildkite .woodpecker jenkinsfile azure-pipelines.yml .travis.yml"),
    ("npm follows", "package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .yarn"),
    ("make runs", "makefile gnumakefile .mk"),
    ("Cargo follows", "cargo.toml .cargo build.rs rust-toolchain rust-toolchain.toml"),
    ("Python follows", "setup.py setup.cfg pyproject.toml conftest.py tox.ini pytest.ini .pth"),
    (
        "Agents follow",
        ".claude .cursor .codex .gemini .opencode claude.md claude.local.md agents.md gemini.md \
         .mcp.json .cursorrules .windsurf .continue .aider opencode.json copilot-instructions.md",
    ),
    ("Editors follow", ".vscode .idea .zed .editorconfig .vimrc .exrc .nvim .code-workspace"),
    ("direnv runs", ".envrc .direnv"),
    (
        "Shells run",
        ".bashrc .profile .zshrc .bash_profile .bash_login .bash_logout .bash_aliases .zshenv \
         .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc fish",
    ),
    ("Docker follows", "dockerfile containerfile .dockerfile docker-compose.yml compose.yaml"),
    ("SSH follows", ".ssh authorized_keys"),
    ("The system runs", "systemd autostart cron.d crontab .service .timer .desktop .plist"),
    ("countersign follows", ".countersign permissions.jsonc countersign.toml"),
];

/// Says who runs or follows the file: "Git runs this file automatically: .git/hooks/pre-push."
pub(crate) fn sentence(path: &str) -> String {
    [follower(path), " this file automatically: ", &shorten(path, 60), "."].concat()
}

fn follower(path: &str) -> &'static str {
    // Some file systems ignore case.
    let path = path.to_lowercase();
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let name = parts().next_back().unwrap_or_default();
    let is_word = |word: &str| parts().any(|part| part == word) || is_ending(name, word);
    let found = FOLLOWERS.iter().find(|(_, words)| words.split_whitespace().any(is_word));
    found.map_or("Other programs follow", |(who, _)| *who)
}

/// Returns true for `deploy.service` and `.service`.
fn is_ending(name: &str, word: &str) -> bool {
    word.starts_with('.') && name.len() > word.len() && name.ends_with(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_the_program_that_runs_or_follows_the_file() {
        for (path, said) in [
            (".git/hooks/pre-push", "Git runs this file automatically: .git/hooks/pre-push."),
            ("/w/.git/config", "Git follows this file automatically: /w/.git/config."),
            ("web/package.json", "npm follows this file automatically: web/package.json."),
            ("MAKEFILE", "make runs this file automatically: MAKEFILE."),
            ("x.service", "The system runs this file automatically: x.service."),
            ("CLAUDE.md", "Agents follow this file automatically: CLAUDE.md."),
            ("flake.nix", "Other programs follow this file automatically: flake.nix."),
        ] {
            assert_eq!(sentence(path), said);
        }
    }
}
