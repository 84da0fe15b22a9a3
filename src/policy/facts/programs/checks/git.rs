//! Options and settings that change what git runs.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::words::listed;

/// Settings that make git run a program, besides aliases.
const PROGRAMS: &str = "core.hookspath core.pager core.fsmonitor core.sshcommand core.editor \
    credential.helper sequence.editor diff.external init.templatedir include.path gpg.program \
    core.gitproxy core.askpass";

/// Returns true when `git config` sets such a setting.
pub(crate) fn sets_a_program(args: &Arguments<'_, '_>) -> bool {
    let runs = args.named().windows(2).any(|pair| {
        let [key, value] = pair else { return false };
        let key = key.text.to_ascii_lowercase();
        let alias = key.starts_with("alias.") && value.text.trim_start().starts_with('!');
        alias
            || listed(PROGRAMS, &key)
            || key.starts_with("filter.")
            || key.starts_with("includeif.")
            || key.ends_with(".textconv")
    });
    // Look-ups and `--unset` mention the key without setting it.
    let reads =
        args.any(|text| text.starts_with("--get") || listed("--list -l --unset --unset-all", text));
    runs && !reads
}

/// Returns true when `git config` only looks up a setting.
pub(crate) fn shows_a_setting(args: &Arguments<'_, '_>) -> bool {
    // The file may be outside the project, whatever is looked up in it.
    let file = args.long("--file --blob") || args.short("f", "");
    let looks = args.long("--get --get-all --get-regexp --list --get-urlmatch")
        || args.has("-l --get --list get list");
    let one = args.named().len() == 1 && !args.has("-e --edit --unset");
    !file && (looks || one)
}

/// Returns true when unreachable commits are dropped at once.
pub(crate) fn prunes_at_once(args: &Arguments<'_, '_>) -> bool {
    let is_old = |when: &str| {
        when == "never"
            || when.starts_with('-')
            || ["week", "month"].iter().any(|it| when.contains(it))
    };
    args.values("--prune --expire").iter().any(|when| !is_old(when))
}

/// Returns true when a ref is overwritten (`+main`) or deleted (`:main`).
pub(crate) fn forces_a_ref(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().skip(1).any(|word| word.text.starts_with(['+', ':']))
}

/// Returns true when an operand behind the first is a folder outside the project and not an
/// address.
pub(crate) fn works_outside(args: &Arguments<'_, '_>) -> bool {
    let folders = args.named();
    // The first operand of `clone` is an address and that of `worktree` a verb.
    let mut folders = folders.iter().skip(usize::from(args.sub != "init"));
    folders.any(|word| args.outside(word) && !word.text.contains("://"))
}

/// Returns true when a file whose text becomes a message is outside; `-` is the input.
pub(crate) fn message_from_outside(args: &Arguments<'_, '_>) -> bool {
    let files = args.values("-F --file -t --template");
    files.iter().any(|file| *file != "-" && args.path_outside(file))
}

/// Returns true when an operand is outside the project.
pub(crate) fn names_outside(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().any(|word| args.outside(word))
}
