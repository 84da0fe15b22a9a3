//! Commands whose words do not say what runs.

use crate::facts::builtins::{Builtin, builtin};
use crate::facts::options;
use crate::facts::paths::Directories;
use crate::facts::programs::description::Role;
use crate::facts::programs::{self, Words, begins, listed};
use crate::facts::wrappers::base;
use crate::shell::{Command, Word, environment};

/// Returns true when a command may run what its words do not name.
pub(super) fn is_unread(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let Some(name) = first.literal().map(base) else { return true };
    // Their words are commands or folders, and are looked at on their own.
    let walked = listed("eval exec trap cd pushd popd dirs umask ulimit set", name);
    if !walked && matches!(builtin(argv), Some(Builtin::Poison(_))) {
        return true;
    }
    match name {
        "git" => return git(argv, args, open, dirs),
        // What runs later is in a file or in their input.
        "at" | "batch" => return true,
        _ => {}
    }
    let is_interpreter = programs::of(name).is_some_and(|it| it.is(Role::Interpreter));
    is_interpreter && takes_a_text(args) || runs_more(argv, open, dirs)
}

/// Returns true when a variable before a command may make it another one.
pub(super) fn assigns(command: &Command<'_>) -> bool {
    let name = command.argv.first().map(|word| word.literal().unwrap_or_default());
    command.assigns.iter().any(|assign| !environment::harmless(assign.name, name))
}

/// Returns true when options of the command run further programs.
fn runs_more(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let Some(why) = options::exceeds(argv, open, dirs) else { return false };
    let why = why.replace("only known when it runs", "");
    ["run", "script", "action"].iter().any(|word| why.contains(word))
}

/// Options of interpreters that give no text and load no file.
const PLAIN: Words = "\
    -u -B -O -OO -s -S -I -b -q -v -w -W -t --test --watch --no-warnings --trace-warnings \
    --enable-source-maps";

/// Returns true when an interpreter gets its program as a text, or from its input.
fn takes_a_text(args: &[Word<'_>]) -> bool {
    for word in args {
        match word.literal() {
            None => return true,
            Some("-m" | "--version" | "-V" | "--help") => return false,
            Some(text) if listed(PLAIN, text) => {}
            Some(text) => {
                return text.starts_with(['-', '+'])
                    || listed("eval e repl", text)
                    || begins("/dev/ /proc/", text);
            }
        }
    }
    true
}

/// Returns true when git may run what its words do not name: an alias, or a program that a setting
/// names.
// A setting or a file may make any other word an alias, and no setting makes one of git's own.
fn git(argv: &[Word<'_>], args: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(text) = word.literal() else { return true };
        let value = more.first().and_then(Word::literal);
        rest = match text {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => more.get(1..).unwrap_or_default(),
            "-c" if value.is_some_and(|it| begins(SETTINGS, &it.to_ascii_lowercase())) => {
                more.get(1..).unwrap_or_default()
            }
            "--version" | "--help" | "-v" | "-h" => return false,
            text if listed(FLAGS, text) || begins("--git-dir= --work-tree= --namespace=", text) => {
                more
            }
            sub if listed(COMMANDS, sub) => {
                let words: Vec<Word<'_>> = argv.iter().take(1).chain(rest).cloned().collect();
                return runs_more(&words, open, dirs);
            }
            _ => return true,
        };
    }
    false
}

/// Flags of git that change nothing that it runs.
const FLAGS: Words = "\
    --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs \
    --icase-pathspecs --bare --no-replace-objects --no-advice";
/// Settings of git that name no program and no alias.
const SETTINGS: Words = "\
    user. author. committer. color. advice. column. core.quotepath= core.autocrlf= commit.gpgsign= \
    tag.gpgsign= init.defaultbranch= protocol.version= safe.directory= log.";
/// The commands of git itself.
const COMMANDS: Words = "\
    add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr \
    check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean \
    clone column commit commit-graph commit-tree config count-objects credential daemon describe \
    diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch \
    fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc grep \
    hash-object help hook index-pack init interpret-trailers log ls-files ls-remote ls-tree \
    mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-tree mergetool mktag mktree \
    multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune \
    prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote \
    repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm \
    send-email send-pack shortlog show show-branch show-index show-ref sparse-checkout stash \
    status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index \
    update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack \
    verify-tag version whatchanged worktree write-tree";
