//! History that others see, and work that nobody can bring back.

use crate::facts::access::{has_flag, operands};
use crate::shell::Word;

pub(super) fn judge(name: &str, args: &[Word<'_>]) -> Option<&'static str> {
    if name != "git" {
        return None;
    }
    let (sub, args) = sub_command(args)?;
    let has = |wanted: &[&str]| args.iter().any(|w| wanted.contains(&&*w.text));
    let long = |option: &str| args.iter().any(|w| w.text.starts_with(option));
    let words = operands(args, &["-m", "-b", "-o"]);
    let dry = has(&["-n", "--dry-run", "-h", "--help"]);
    let first = words.first().map(|w| &*w.text).unwrap_or_default();
    let whole_tree = words.iter().any(|w| matches!(&*w.text, "." | ":/" | "*" | "./"));
    let hit = match sub {
        "push" => {
            let forced = long("--force")
                || has(&["--mirror", "--delete", "--prune"])
                || has_flag(args, 'f')
                || has_flag(args, 'd');
            let refspec =
                words.iter().skip(1).any(|w| w.text.starts_with('+') || w.text.starts_with(':'));
            (forced || refspec) && !dry
        }
        "filter-branch" | "filter-repo" => true,
        "update-ref" => has(&["-d", "--stdin"]),
        "reflog" => matches!(first, "expire" | "delete"),
        "gc" | "prune" => long("--prune=now") || long("--prune=all") || long("--expire=now"),
        "clean" => has_flag(args, 'f') && !has_flag(args, 'n') && !dry,
        "reset" => has(&["--hard"]),
        "checkout" => whole_tree && (has(&["--"]) || words.len() == 1),
        "restore" => whole_tree && (!has(&["--staged", "-S"]) || has(&["--worktree", "-W"])),
        "branch" => has_flag(args, 'D') || has(&["--delete"]) && has(&["--force", "-f"]),
        "stash" => matches!(first, "clear" | "drop"),
        "config" => return config(args),
        _ => false,
    };
    hit.then_some("rewrites or deletes history or work that cannot be brought back")
}

/// git's own options in front of the sub-command are stepped over.
fn sub_command<'w, 'a>(args: &'w [Word<'a>]) -> Option<(&'w str, &'w [Word<'a>])> {
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        rest = match &*word.text {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
            | "--config-env" | "--super-prefix" => more.get(1..).unwrap_or_default(),
            text if text.starts_with('-') => more,
            sub => return Some((sub, more)),
        };
    }
    None
}

/// Settings with which git runs programs.
fn config(args: &[Word<'_>]) -> Option<&'static str> {
    let words = operands(args, &["-f", "--file"]);
    let runs = words.windows(2).any(|pair| {
        let [key, value] = pair else { return false };
        let key = key.text.to_ascii_lowercase();
        let alias = key.starts_with("alias.") && value.text.trim_start().starts_with('!');
        let program = [
            "core.hookspath",
            "core.pager",
            "core.fsmonitor",
            "core.sshcommand",
            "core.editor",
            "credential.helper",
            "sequence.editor",
            "diff.external",
            "init.templatedir",
            "include.path",
            "gpg.program",
            "core.gitproxy",
            "core.askpass",
        ];
        alias
            || program.contains(&key.as_str())
            || key.starts_with("filter.")
            || key.starts_with("includeif.")
            || key.ends_with(".textconv")
    });
    let reads = args.iter().any(|w| {
        w.text.starts_with("--get")
            || matches!(&*w.text, "--list" | "-l" | "--unset" | "--unset-all")
    });
    (runs && !reads).then_some("changes which programs git runs")
}
