//! git: one name, many programs.

use super::arguments::Arguments;

/// Why a git command goes beyond a plain grant.
pub(super) fn judge(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let mut rest = args.words;
    // Options in front of the sub-command point git at another repository or configuration.
    while let Some((word, more)) = rest.split_first() {
        match &*word.text {
            "--no-pager"
            | "--version"
            | "--help"
            | "--no-optional-locks"
            | "--literal-pathspecs" => rest = more,
            text if text.starts_with('-') => {
                return Some("a global option of git changes what it runs or where");
            }
            _ => break,
        }
    }
    let (sub, words) = rest.split_first()?;
    let Some(sub) = sub.literal() else {
        return Some("which git command it is will only show when it runs");
    };
    let args = Arguments { words, open: args.open, dirs: args.dirs };
    runs(sub, &args)
        .or_else(|| writes(sub, &args))
        .or_else(|| guarded(sub, &args))
        .or_else(|| args.any(transport).then_some("a transport of it runs a program"))
}

fn runs(sub: &str, args: &Arguments<'_, '_>) -> Option<&'static str> {
    let options = [
        "--ext-diff",
        "--textconv",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--open-files-in-pager",
        "--sequence-editor",
        "--tool-help",
        "--extcmd",
        "--template",
        "--config",
        "--smtp-server",
        "--sendmail-cmd",
        "--separate-git-dir",
    ];
    // `--config` is also a prefix of harmless words of other commands.
    let named = args.long(&options);
    let short = match sub {
        "grep" => args.short("O", "eABCfm"),
        "clone" => args.short("uc", "bojr"),
        "rebase" => args.short("x", "sX"),
        "difftool" | "mergetool" => true,
        "fetch" | "pull" | "ls-remote" | "push" => args.short("", ""),
        "send-email" | "instaweb" | "web--browse" | "daemon" | "shell" | "cvsserver" | "gui"
        | "p4" | "svn" | "fast-import" | "hook" | "maintenance" | "credential" => true,
        "filter-branch" | "filter-repo" => true,
        "bisect" => args.has(&["run", "visualize", "view"]),
        "submodule" => !first_is(args, &["status", "summary"]) && !args.words.is_empty(),
        "archive" => args.long(&["--remote", "--exec", "--output"]) || args.short("o", "l"),
        "apply" | "am" => true,
        "notes" | "replace" | "stripspace" | "interpret-trailers" => false,
        _ => false,
    };
    (named || short).then_some("an option of git runs another program")
}

fn writes(sub: &str, args: &Arguments<'_, '_>) -> Option<&'static str> {
    let operands = args.operands(&[]);
    let operand = |wanted: &[&str]| operands.first().is_some_and(|w| wanted.contains(&&*w.text));
    let why = match sub {
        "config" => {
            let reads =
                args.long(&["--get", "--get-all", "--get-regexp", "--list", "--get-urlmatch"])
                    || args.has(&["-l", "--get", "--list", "get", "list"]);
            let file = args.long(&["--file", "--blob"]) || args.short("f", "");
            (file || !(reads || operands.len() == 1 && !args.has(&["-e", "--edit", "--unset"])))
                .then_some("it changes git's configuration, which can run programs")
        }
        "remote" => (!operands.is_empty() && !operand(&["show", "get-url"]))
            .then_some("it changes where git sends to and fetches from"),
        "branch" => (args.short("DMC", "u")
            || args.has(&["-f"])
            || args.long(&["--delete-force", "--force"]))
        .then_some("it deletes or overwrites branches by force"),
        "push" => push(args, &operands.iter().map(|w| &*w.text).collect::<Vec<_>>()),
        "commit" | "tag" => {
            let files = args.values(&["-F", "--file", "-t", "--template"]);
            files
                .iter()
                .any(|file| *file != "-" && args.path_outside(file))
                .then_some("it takes a file from outside the workspace")
        }
        "clean" => (!args.has(&["-n", "--dry-run"]) && args.short("fxX", "e"))
            .then_some("it deletes files that git does not know"),
        "update-ref" | "symbolic-ref" | "reflog" => {
            (operand(&["delete", "expire"]) || args.short("d", "m") || sub == "update-ref")
                .then_some("it rewrites references")
        }
        "gc" | "prune" => args
            .any(|text| text.starts_with("--prune=now"))
            .then_some("it drops unreachable commits"),
        "init" | "worktree" | "clone" => {
            let at = usize::from(sub != "init");
            let outside =
                operands.iter().skip(at).any(|w| args.outside(w) && !w.text.contains("://"))
                    || args.long(&["--template"]);
            outside.then_some("it writes outside the workspace")
        }
        "blame" | "annotate" => args
            .values(&["--contents", "-S", "--ignore-revs-file"])
            .iter()
            .any(|file| args.path_outside(file))
            .then_some("it reads files outside the workspace"),
        "diff" if args.has(&["--no-index"]) => operands
            .iter()
            .any(|w| args.outside(w))
            .then_some("it reads files outside the workspace"),
        _ => None,
    };
    let output = args.long(&["--output", "--output-directory"])
        || (sub == "format-patch" && args.values(&["-o"]).iter().any(|dir| args.path_outside(dir)));
    why.or(output.then_some("an option of git writes a file"))
}

/// Forced, deleting and mirroring pushes are more than a push.
fn push(args: &Arguments<'_, '_>, operands: &[&str]) -> Option<&'static str> {
    let forced = args.long(&[
        "--force",
        "--force-with-lease",
        "--force-if-includes",
        "--mirror",
        "--delete",
        "--prune",
    ]) || args.short("fd", "o")
        || operands.iter().skip(1).any(|refspec| refspec.starts_with(['+', ':']));
    (forced && !args.has(&["--dry-run", "-n"]))
        .then_some("it overwrites or deletes what others see")
}

/// A word that is only known when it runs may be one of the options above, unless `--` comes first.
fn guarded(sub: &str, args: &Arguments<'_, '_>) -> Option<&'static str> {
    let plain = matches!(
        sub,
        "add"
            | "status"
            | "stash"
            | "show-ref"
            | "rev-parse"
            | "cat-file"
            | "ls-files"
            | "mv"
            | "rm"
            | "restore"
            | "switch"
            | "checkout"
            | "commit"
            | "tag"
            | "merge"
            | "reset"
            | "cherry-pick"
            | "revert"
            | "blame"
    );
    (!plain && args.uncertain())
        .then_some("a word that is only known when it runs may be an option")
}

fn transport(text: &str) -> bool {
    text.starts_with("ext::") || text.starts_with("fd::") || text.starts_with("--upload-pack")
}

fn first_is(args: &Arguments<'_, '_>, wanted: &[&str]) -> bool {
    args.words.first().is_some_and(|w| wanted.contains(&&*w.text))
}
