//! The long options with which sub-commands of git only read.

use crate::facts::programs::reading::Operands;
use crate::facts::programs::words::Words;

// Left out: options that run a program or write a file, such as `--ext-diff` and `--output`.
pub(super) const GIT_STATUS: &[Words] = &["\
    short branch show-stash porcelain? long verbose untracked-files? ignored? ignore-submodules? \
    column? ahead-behind no-ahead-behind renames no-renames find-renames?"];
pub(super) const GIT_LOG: Words = "\
    abbrev? abbrev-commit no-abbrev-commit color? date= decorate? decorate-refs= encoding= \
    format? graph name-only name-status no-color no-decorate no-graph no-notes no-show-signature \
    notes? oneline parents pretty? relative-date source children left-right raw root cc";
pub(super) const GIT_COMMITS: Words = "\
    after= all all-match ancestry-path? author= basic-regexp before= boundary branches? cherry \
    cherry-mark cherry-pick committer= date-order exclude= extended-regexp first-parent \
    fixed-strings follow full-history glob= grep= grep-reflog= invert-grep left-only max-count= \
    max-parents= merge merges min-parents= no-merges no-walk? not perl-regexp reflog \
    regexp-ignore-case remotes? remove-empty reverse right-only show-pulls \
    simplify-by-decoration simplify-merges since= skip= sparse tags? topo-order until= \
    walk-reflogs author-date-order email numbered summary group=";
pub(super) const GIT_DIFF: Words = "\
    abbrev? anchored= binary break-rewrites? cached check color? color-moved? color-words? \
    compact-summary cumulative diff-algorithm= diff-filter= dirstat? dst-prefix= exit-code \
    find-copies? find-copies-harder find-object= find-renames? full-index function-context \
    histogram ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines= \
    ignore-space-at-eol ignore-space-change ignore-submodules? indent-heuristic \
    inter-hunk-context= irreversible-delete merge-base minimal name-only name-status no-color \
    no-color-moved no-ext-diff no-patch no-prefix no-relative no-renames no-textconv numstat \
    patch patch-with-stat patience pickaxe-all pickaxe-regex quiet raw relative? rename-empty \
    shortstat src-prefix= staged stat? submodule? summary text unified= word-diff? \
    word-diff-regex= ws-error-highlight=";
pub(super) const GIT_BLAME: &[Words] = &["\
    porcelain line-porcelain incremental date= abbrev= show-name show-number show-email root \
    since= progress"];
pub(super) const GIT_BRANCH: &[Words] = &["\
    all remotes verbose show-current color? no-color column? sort= format= contains= \
    no-contains= merged? no-merged? points-at= ignore-case abbrev= no-abbrev list"];
pub(super) const LISTED: Operands = Operands::Listed("l list");
pub(super) const GIT_REV_PARSE: &[Words] = &["\
    abbrev-ref? short? verify quiet show-toplevel git-dir absolute-git-dir git-common-dir \
    show-cdup show-prefix symbolic-full-name symbolic is-inside-work-tree is-inside-git-dir \
    is-bare-repository all is-shallow-repository branches? tags? remotes? \
    show-superproject-working-tree show-object-format?"];
pub(super) const GIT_DESCRIBE: &[Words] = &["\
    all tags contains abbrev= candidates= exact-match long match= exclude= always first-parent \
    dirty? broken?"];
pub(super) const GIT_LS_FILES: &[Words] = &["\
    cached deleted modified others stage unmerged ignored directory exclude= exclude-standard \
    full-name error-unmatch abbrev? eol debug recurse-submodules"];
pub(super) const GIT_GREP: &[Words] = &["\
    cached untracked text ignore-case word-regexp invert-match extended-regexp basic-regexp \
    perl-regexp fixed-strings line-number files-with-matches files-without-match name-only count \
    column only-matching heading break show-function function-context context= after-context= \
    before-context= max-depth= threads= color? no-color quiet all-match full-name null \
    max-count="];
