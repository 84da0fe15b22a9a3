//! The sub-commands of git that only read.

use super::programs::{LISTED, Operands, Program, sub};
use super::{operands, words::Words};
use crate::facts::paths::Directories;
use crate::shell::Word;

use Operands::{Literals, None, Pattern, Revisions, Setting};

/// Whether these words behind `git` only read.
pub(super) fn reads(args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let harmless = ["--no-pager", "--no-optional-locks", "--literal-pathspecs"];
    let global = |word: &&Word<'_>| word.literal().is_some_and(|text| harmless.contains(&text));
    let from = args.iter().take_while(global).count();
    let args = args.get(from..).unwrap_or_default();
    SUBCOMMANDS.iter().filter_map(|one| Some((one, one.behind(args)?))).any(|(one, args)| {
        Words::of(one, args).is_some_and(|words| operands::read(one.operands, &words, dirs))
    })
}

const fn git(
    name: &'static str,
    flags: &'static str,
    values: &'static str,
    longs: &'static [&'static str],
    operands: Operands,
) -> Program {
    sub("git", name, flags, values, longs, operands)
}

/// Without `--ext-diff`, `--textconv` and `--output`, and of `git grep` without `-O`.
static SUBCOMMANDS: &[Program] = &[
    git("status", "sbuvz", "", STATUS, Revisions),
    git("log", "pucgiEFPswabRz#qtrmMCB", "nUSGL", &[LOG, COMMITS, DIFF], Revisions),
    git("whatchanged", "psz#MC", "nUSGL", &[LOG, COMMITS, DIFF], Revisions),
    git("show", "pusqwzcmrt#MC", "nUSGL", &[LOG, COMMITS, DIFF], Revisions),
    git("diff", "puswbazR#MCB", "nUSG", &[DIFF], Revisions),
    git("diff-tree", "pruswbazctmMC", "U", &[LOG, DIFF], Revisions),
    git("diff-index", "puswbazMC", "U", &[DIFF], Revisions),
    git("diff-files", "puswbazMC", "U", &[DIFF], Revisions),
    git("range-diff", "s", "", &[DIFF], Revisions),
    git("shortlog", "nsecw", "", &[LOG, COMMITS], Revisions),
    git("blame", "lteswcfnpbkMC", "L", BLAME, Revisions),
    git("annotate", "lteswcfnpbkMC", "L", BLAME, Revisions),
    git("branch", "arvqi", "", BRANCH, None),
    git(
        "branch",
        "arvqil",
        "",
        &["list sort= format= contains= merged? no-merged? color?"],
        LISTED,
    ),
    git("tag", "ln#i", "", &["list sort= format= contains= merged? no-merged? points-at="], LISTED),
    git("remote", "v", "", &["verbose"], None),
    git("remote get-url", "", "", &["all push"], Literals),
    git("stash list", "psz#", "n", &[LOG, DIFF], Revisions),
    git("stash show", "pusz", "", &[DIFF, "include-untracked"], Revisions),
    git("worktree list", "vz", "", &["porcelain verbose"], None),
    git("submodule status", "", "", &["cached recursive"], Revisions),
    git("reflog", "n#", "n", &[LOG, COMMITS], None),
    git("reflog show", "n#", "n", &[LOG, COMMITS], Revisions),
    git("rev-parse", "q", "", REV_PARSE, Revisions),
    git("rev-list", "#", "n", &["count objects", LOG, COMMITS], Revisions),
    git("merge-base", "a", "", &["all is-ancestor octopus fork-point independent"], Revisions),
    git("name-rev", "", "", &["name-only tags always no-undefined refs="], Revisions),
    git("describe", "", "", DESCRIBE, Revisions),
    git("cherry", "v", "", &["verbose abbrev?"], Revisions),
    git("for-each-ref", "", "", &["count= sort= format= contains= merged? no-merged?"], Revisions),
    git(
        "show-ref",
        "hdsqv",
        "",
        &["head heads tags branches verify hash? dereference quiet"],
        Revisions,
    ),
    git("ls-files", "cdmosuitvzkf", "x", LS_FILES, Revisions),
    git(
        "ls-tree",
        "rdtlz",
        "",
        &["name-only name-status long full-name full-tree abbrev?"],
        Revisions,
    ),
    git("cat-file", "tspe", "", &[], Revisions),
    git("grep", "aIivwhHEGPFnlLcpWoqz#", "eABCm", GREP, Pattern("e")),
    git("check-ignore", "qvzn", "", &["verbose quiet non-matching no-index"], Revisions),
    git("check-attr", "az", "", &["all cached"], Revisions),
    git("count-objects", "vH", "", &["verbose human-readable"], None),
    git("clean -n", "dxX", "", &[], Revisions),
    git("clean --dry-run", "dxX", "", &[], Revisions),
    git("version", "", "", &["build-options"], None),
    git("--version", "", "", &[], None),
    git("config --get", "", "", &[], Setting),
];

const STATUS: &[&str] = &[
    "short branch show-stash porcelain? long verbose untracked-files? ignored? ignore-submodules? column?",
    "ahead-behind no-ahead-behind renames no-renames find-renames?",
];
const LOG: &str = "abbrev? abbrev-commit no-abbrev-commit color? date= decorate? decorate-refs= encoding= \
    format? graph name-only name-status no-color no-decorate no-graph no-notes no-show-signature notes? \
    oneline parents pretty? relative-date source children left-right raw root cc";
const COMMITS: &str = "after= all all-match ancestry-path? author= basic-regexp before= boundary branches? \
    cherry cherry-mark cherry-pick committer= date-order exclude= extended-regexp first-parent \
    fixed-strings follow full-history glob= grep= grep-reflog= invert-grep left-only max-count= \
    max-parents= merge merges min-parents= no-merges no-walk? not perl-regexp reflog \
    regexp-ignore-case remotes? remove-empty reverse right-only show-pulls simplify-by-decoration \
    simplify-merges since= skip= sparse tags? topo-order until= walk-reflogs author-date-order email \
    numbered summary group=";
const DIFF: &str = "abbrev? anchored= binary break-rewrites? cached check color? color-moved? \
    color-words? compact-summary cumulative diff-algorithm= diff-filter= dirstat? dst-prefix= exit-code \
    find-copies? find-copies-harder find-object= find-renames? full-index function-context histogram \
    ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines= ignore-space-at-eol \
    ignore-space-change ignore-submodules? indent-heuristic inter-hunk-context= irreversible-delete \
    merge-base minimal name-only name-status no-color no-color-moved no-ext-diff no-patch no-prefix \
    no-relative no-renames no-textconv numstat patch patch-with-stat patience pickaxe-all pickaxe-regex \
    quiet raw relative? rename-empty shortstat src-prefix= staged stat? submodule? summary text unified= \
    word-diff? word-diff-regex= ws-error-highlight=";
const BLAME: &[&str] = &[
    "porcelain line-porcelain incremental date= abbrev= show-name show-number show-email root since= progress",
];
const BRANCH: &[&str] = &[
    "all remotes verbose show-current color? no-color column? sort= format= contains= no-contains= merged?",
    "no-merged? points-at= ignore-case abbrev= no-abbrev list",
];
const REV_PARSE: &[&str] = &[
    "abbrev-ref? short? verify quiet show-toplevel git-dir absolute-git-dir git-common-dir show-cdup",
    "show-prefix symbolic-full-name symbolic is-inside-work-tree is-inside-git-dir is-bare-repository all",
    "is-shallow-repository branches? tags? remotes? show-superproject-working-tree show-object-format?",
];
const DESCRIBE: &[&str] = &[
    "all tags contains abbrev= candidates= exact-match long match= exclude= always first-parent dirty?",
    "broken?",
];
const LS_FILES: &[&str] = &[
    "cached deleted modified others stage unmerged ignored directory exclude= exclude-standard full-name",
    "error-unmatch abbrev? eol debug recurse-submodules",
];
const GREP: &[&str] = &[
    "cached untracked text ignore-case word-regexp invert-match extended-regexp",
    "basic-regexp perl-regexp fixed-strings line-number files-with-matches files-without-match name-only",
    "count column only-matching heading break show-function function-context context= after-context=",
    "before-context= max-depth= threads= color? no-color quiet all-match full-name null max-count=",
];
