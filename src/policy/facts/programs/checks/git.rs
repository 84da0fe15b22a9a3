//! What git obeys: options in front of its sub-command, and settings.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::words::listed;

/// Settings with which git runs programs, beside aliases.
const PROGRAMS: &str = "core.hookspath core.pager core.fsmonitor core.sshcommand core.editor \
    credential.helper sequence.editor diff.external init.templatedir include.path gpg.program \
    core.gitproxy core.askpass";

/// `git config` sets such a setting.
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
    let reads =
        args.any(|text| text.starts_with("--get") || listed("--list -l --unset --unset-all", text));
    runs && !reads
}

/// `git config` only looks one up.
pub(crate) fn shows_a_setting(args: &Arguments<'_, '_>) -> bool {
    let file = args.long("--file --blob") || args.short("f", "");
    let looks = args.long("--get --get-all --get-regexp --list --get-urlmatch")
        || args.has("-l --get --list get list");
    let one = args.named().len() == 1 && !args.has("-e --edit --unset");
    !file && (looks || one)
}

/// A ref that is overwritten (`+main`) or deleted (`:main`).
pub(crate) fn forces_a_ref(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().skip(1).any(|word| word.text.starts_with(['+', ':']))
}

/// An operand behind the first is a folder outside the workspace, and no address.
pub(crate) fn works_outside(args: &Arguments<'_, '_>) -> bool {
    let folders = args.named();
    let mut folders = folders.iter().skip(usize::from(args.sub != "init"));
    folders.any(|word| args.outside(word) && !word.text.contains("://"))
}

/// A file whose text becomes a message lies outside; `-` is its input.
pub(crate) fn message_from_outside(args: &Arguments<'_, '_>) -> bool {
    let files = args.values("-F --file -t --template");
    files.iter().any(|file| *file != "-" && args.path_outside(file))
}

/// An operand lies outside the workspace.
pub(crate) fn names_outside(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().any(|word| args.outside(word))
}
