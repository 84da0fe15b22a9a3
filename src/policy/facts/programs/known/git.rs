//! git: one name, many programs.

use crate::facts::obeyed;
use crate::facts::paths;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{
    self, All, Always, Any, AtLeast, Bare, First, Has, Not, Nth, Outside, Says, Starts, Sub,
    Surely, Test, Uncertain,
};
use crate::facts::programs::condition::{case, critical, options, sub};
use crate::facts::programs::description::{
    AlwaysRule, Depth, Files, Operands, Program, Reach, Reading, Role, Runs, RunsPart, Title, To,
    form,
};
use crate::facts::programs::known::{OUTSIDE, names_outside};
use crate::facts::programs::sensitive::everything;
use crate::facts::programs::{Words, begins, ends, listed};

pub(super) static ALL: &[Program] =
    &[GIT, Program::named("git-filter-repo bfg").critical(&[critical(Always, HISTORY)])];

const GIT: Program = Program::named("git")
    .roles(&[Role::Titled, Role::Many, Role::ObeysFolder])
    .files(Files::As("mv"))
    .global(GIT_GLOBAL)
    // Other options in front, such as `-c` and `--exec-path`, may make git run any program.
    .plain("--no-pager --no-optional-locks --literal-pathspecs")
    .reads(&[
        revisions("status", "sbuvz", "", GIT_STATUS),
        revisions("log", "pucgiEFPswabRz#qtrmMCBU0123456789", "nSGL", GIT_HISTORY),
        revisions("whatchanged", "psz#MCU0123456789", "nSGL", GIT_HISTORY),
        revisions("show", "pusqwzcmrt#MCU0123456789", "nSGL", GIT_HISTORY),
        revisions("diff", "puswbazR#MCBU0123456789", "nSG", &[GIT_DIFF]),
        revisions("diff-tree", "pruswbazctmMCU0123456789", "", &[GIT_LOG, GIT_DIFF]),
        revisions("diff-index", "puswbazMCU0123456789", "", &[GIT_DIFF]),
        revisions("diff-files", "puswbazMCU0123456789", "", &[GIT_DIFF]),
        revisions("range-diff", "s", "", &[GIT_DIFF]),
        revisions("shortlog", "nsecw", "", GIT_LISTS),
        revisions("blame", "lteswcfnpbkMC", "L", GIT_BLAME),
        revisions("annotate", "lteswcfnpbkMC", "L", GIT_BLAME),
        form("branch", "arvqi", "", GIT_BRANCH, Operands::None),
        form(
            "branch",
            "arvqil",
            "",
            &["list sort= format= contains= no-contains= merged? no-merged? points-at= color?"],
            LISTED,
        ),
        form(
            "tag",
            "ln#i",
            "",
            &["list sort= format= contains= merged? no-merged? points-at="],
            LISTED,
        ),
        // Without `-v` and `get-url`, because an address may contain a token.
        form("remote", "", "", &[], Operands::None),
        revisions("stash list", "psz#", "n", &[GIT_LOG, GIT_DIFF]),
        revisions("stash show", "pusz", "", &[GIT_DIFF, "include-untracked"]),
        form("worktree list", "vz", "", &["porcelain verbose"], Operands::None),
        revisions("submodule status", "", "", &["cached recursive"]),
        form("reflog", "n#", "n", GIT_LISTS, Operands::None),
        revisions("reflog show", "n#", "n", GIT_LISTS),
        revisions("rev-parse", "q", "", GIT_REV_PARSE),
        revisions("rev-list", "#", "n", &["count objects", GIT_LOG, GIT_COMMITS]),
        revisions("merge-base", "a", "", &["all is-ancestor octopus fork-point independent"]),
        revisions("name-rev", "", "", &["name-only tags always no-undefined refs="]),
        revisions("describe", "", "", GIT_DESCRIBE),
        revisions("cherry", "v", "", &["verbose abbrev?"]),
        revisions("for-each-ref", "", "", &["count= sort= format= contains= merged? no-merged?"]),
        revisions(
            "show-ref",
            "hdsqv",
            "",
            &["head heads tags branches verify hash? dereference quiet"],
        ),
        revisions("ls-files", "cdmosuitvzkf", "x", GIT_LS_FILES),
        revisions(
            "ls-tree",
            "rdtlz",
            "",
            &["name-only name-status long full-name full-tree abbrev?"],
        ),
        revisions("cat-file", "tspe", "", &[]),
        form("grep", "aIivwhHEGPFnlLcpWoqz#", "eABCm", GIT_GREP, Operands::Pattern("e")),
        revisions("check-ignore", "qvzn", "", &["verbose quiet non-matching no-index"]),
        revisions("check-attr", "az", "", &["all cached"]),
        form("count-objects", "vH", "", &["verbose human-readable"], Operands::None),
        revisions("clean -n", "dxX", "", &[]),
        revisions("clean --dry-run", "dxX", "", &[]),
        form("version", "", "", &["build-options"], Operands::None),
        form("--version", "", "", &[], Operands::None),
        // Only keys that hold no token; `reads::operands` lists them.
        form("config --get", "", "", &[], Operands::Setting),
        form("config", "", "", &[], Operands::Setting),
    ])
    .beyond(&[
        case(options(GIT_RUNNERS, "", ""), GIT_RUNS),
        sub(GIT_PROGRAMS, Always, GIT_RUNS),
        case(Test(is_internal), GIT_RUNS),
        sub("grep", options("", "O", "eABCfm"), GIT_RUNS),
        // `-u` names a program for the other side, `-c` any setting.
        sub("clone", options("", "uc", "bojr"), GIT_RUNS),
        sub("rebase", options("", "x", "sX"), GIT_RUNS),
        sub("merge pull rebase cherry-pick revert", Test(names_a_strategy), GIT_RUNS),
        sub("bisect", Has("run visualize view"), GIT_RUNS),
        sub("mv", Test(moves_what_others_obey), "it moves a file that others run or obey"),
        sub("mailinfo mailsplit merge-file interpret-trailers pack-objects", Always, GIT_WRITES),
        // `submodule foreach` runs a command; only the listing forms run nothing.
        sub("submodule", Not(&Any(&[First("status summary"), Bare])), GIT_RUNS),
        // `--remote` with `--exec` runs a program on the other side.
        sub("archive", options("--remote --exec --output", "o", "l"), GIT_RUNS),
        sub(
            "config",
            Not(&Test(shows_a_setting)),
            "it changes git's configuration, which can run programs",
        ),
        sub(
            "remote",
            All(&[AtLeast(1), Not(&Nth(0, "show get-url"))]),
            "it changes where git sends to and fetches from",
        ),
        sub(
            "branch",
            Any(&[options("--delete-force --force", "DMC", "u"), Has("-f")]),
            "it deletes or overwrites branches by force",
        ),
        sub(
            "push",
            Any(&[options(GIT_FORCES, "fd", "o"), Test(forces_a_ref)]),
            "it overwrites or deletes what others see",
        )
        .values(MESSAGES)
        .unless(DRY),
        sub(
            "commit tag merge notes",
            Test(message_from_outside),
            "it takes a file from outside the project",
        ),
        sub("clean", options("--force", "fxX", "e"), "it deletes files that git does not know")
            .values(MESSAGES)
            .unless(DRY),
        sub("update-ref", Always, REFERENCES),
        sub(
            "fetch pull",
            Any(&[options("--force", "f", "jo"), Test(forces_a_ref)]),
            "it overwrites branches by force",
        ),
        sub(
            "symbolic-ref reflog",
            Any(&[Nth(0, "delete expire"), options("", "d", "m")]),
            REFERENCES,
        ),
        sub("gc prune", Test(prunes_at_once), "it drops unreachable commits"),
        sub(
            "init worktree clone",
            Any(&[Test(works_outside), options("--template", "", "")]),
            "it writes outside the project",
        ),
        sub("push pull fetch", Test(names_an_address), "it names an address and no remote"),
        sub(
            "blame annotate",
            Outside("--contents -S --ignore-revs-file"),
            "it reads files outside the project",
        ),
        sub("bundle hash-object index-pack", Test(names_outside), OUTSIDE),
        // With a file outside the repository, it is `diff --no-index`.
        sub("diff", Test(reads_outside), OUTSIDE),
        sub("grep", All(&[options("--no-index", "", ""), Test(names_outside)]), OUTSIDE),
        case(options("--output --output-directory --export-marks", "", ""), GIT_WRITES),
        sub("format-patch bugreport diagnose checkout-index", Outside("-o --prefix"), GIT_WRITES),
        case(
            All(&[Uncertain, Not(&Sub(GIT_PLAIN))]),
            "a word that is only known when it runs may be an option",
        ),
        // `ext::sh -c …` as an address runs a command.
        case(Starts("ext:: fd:: --upload-pack"), "a transport of it runs a program"),
    ])
    .critical(&[
        sub(
            "push send-pack http-push",
            Any(&[options(GIT_FORCES, "fdD", "o"), Test(forces_a_ref)]),
            HISTORY,
        )
        .values(MESSAGES)
        .unless(DRY),
        sub("filter-branch filter-repo", Always, HISTORY).values(MESSAGES),
        sub("update-ref", Always, HISTORY).values(MESSAGES).unless(Surely("-h --help")),
        sub("reflog", Nth(0, "expire delete"), HISTORY).values(MESSAGES),
        sub("gc prune", Test(prunes_at_once), HISTORY).values(MESSAGES).unless(DRY),
        sub("clean", options("--force", "f", "e"), HISTORY).values(MESSAGES).unless(DRY),
        case(All(&[Says(&["clean.requireforce"]), Has("clean")]), HISTORY),
        sub("reset", options("--hard --merge", "", ""), HISTORY).values(MESSAGES),
        // Without a branch it only drops every uncommitted change.
        sub("checkout", All(&[options("--force", "f", "bB"), Not(&AtLeast(1))]), HISTORY),
        sub("switch", options("--discard-changes --force", "f", "cC"), HISTORY),
        sub("read-tree", options("--reset", "", ""), HISTORY),
        sub(
            "checkout-index",
            All(&[options("--force", "f", ""), options("--all", "a", "")]),
            HISTORY,
        ),
        sub("worktree submodule", All(&[Nth(0, "remove deinit"), Has("-f --force")]), HISTORY),
        sub("rm", All(&[ALL_FILES, options("--force", "f", "")]), HISTORY),
        // `git checkout .` drops every uncommitted change, and so does `git checkout HEAD .`.
        sub("checkout", ALL_FILES, HISTORY).values(MESSAGES),
        sub(
            "restore",
            All(&[ALL_FILES, Any(&[Not(&Has("--staged -S")), options("--worktree", "W", "s")])]),
            HISTORY,
        )
        .values(MESSAGES),
        // `-f` moves a branch away from its commits, `-D` deletes it.
        sub("branch", options("--force", "Df", "u"), HISTORY).values(MESSAGES),
        sub("stash", Nth(0, "clear drop"), HISTORY).values(MESSAGES),
        sub("config", Test(sets_a_program), "changes which programs git runs").values("-f --file"),
    ])
    .depth(Depth::WalksHereWith("grep add clean stash archive -a -am"))
    .prose("-m -am --message")
    .runs(Runs::Parts(GIT_PARTS))
    .reaches(&[
        Reach::Publishes {
            sub: "push",
            second: "",
            title: Title::Two,
            to: To::Rest("the default remote"),
        },
        Reach::Publishes { sub: "send-email", second: "", title: Title::Two, to: To::Rest("") },
        Reach::Repository("clone fetch pull ls-remote"),
    ])
    .grant(
        AlwaysRule::words(2)
            .own(GIT_OWN)
            .three("config remote stash")
            .never_subs("-c config filter-branch")
            .narrow(GIT_OVERWRITES),
    );

/// Any other is an alias or a program of the user, which may do anything: `git acme`. What only scripts
/// of git itself run is left out.
const GIT_OWN: Words = "\
    add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore \
    check-mailmap check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit \
    commit-graph commit-tree config count-objects describe diagnose diff diff-files diff-index diff-tree \
    difftool fast-export fast-import fetch filter-branch for-each-ref format-patch fsck gc grep gui \
    hash-object help index-pack init interpret-trailers lfs log ls-files ls-remote ls-tree maintenance \
    merge merge-base merge-file merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes \
    pack-objects pack-refs prune prune-packed pull push range-diff read-tree rebase reflog remote repack \
    replace request-pull rerere reset restore rev-list rev-parse revert rm send-email shortlog show \
    show-branch show-index show-ref sparse-checkout stash status stripspace submodule switch \
    symbolic-ref tag unpack-objects update-index update-ref update-server-info var verify-commit \
    verify-pack verify-tag version whatchanged worktree write-tree";

/// Creates the form of a sub-command whose operands are revisions and paths.
const fn revisions(
    sub: Words,
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
) -> Reading {
    form(sub, flags, values, longs, Operands::Revisions)
}

const GIT_OVERWRITES: Words = "\
    checkout switch rm mv branch tag rebase stash worktree submodule update-ref symbolic-ref \
    reflog gc read-tree checkout-index update-index replace";
const GIT_GLOBAL: Words = "\
    -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix \
    --attr-source";
// `--ext-diff`, `--textconv` and the like run programs that the repository's settings name.
const GIT_RUNNERS: Words = "\
    --ext-diff --textconv --filters --upload-pack --receive-pack --exec --open-files-in-pager \
    --sequence-editor --tool-help --extcmd --template --config --smtp-server --sendmail-cmd \
    --separate-git-dir";
const GIT_RUNS: &str = "an option of git runs another program";
const GIT_PROGRAMS: Words = "\
    difftool mergetool send-email instaweb web--browse daemon shell cvsserver gui p4 svn \
    fast-import hook maintenance credential imap-send filter-branch filter-repo apply am merge-index column \
    for-each-repo quiltimport archimport scalar citool subtree request-pull merge-octopus \
    merge-resolve merge-one-file";
/// How the names of the programs begin that git runs for itself: transports and stores of passwords.
const INTERNAL: Words = "remote- credential- upload- receive- send- http- cvs";
const GIT_FORCES: Words = "\
    --force --force-with-lease --force-if-includes --mirror --delete --prune";
const REFERENCES: &str = "it rewrites references";
const GIT_WRITES: &str = "an option of git writes a file";
const GIT_PLAIN: Words = "\
    add status stash show-ref rev-parse cat-file ls-files mv rm restore switch checkout commit \
    tag merge reset cherry-pick revert blame";
const HISTORY: &str = "can destroy git history or work for good";
// Their values must not count as operands, as in `-m 'reset --hard'`.
const MESSAGES: Words = "\
    -m -b -o -e --message --push-option --repo --receive-pack --exec --exclude";
const DRY: When = Any(&[options("--dry-run", "n", ""), Surely("-h --help")]);
const ALL_FILES: When = Test(names_every_file);
const GIT_PARTS: &[RunsPart] = &[
    RunsPart::Values { behind: "rebase", options: "-x --exec" },
    RunsPart::Command { behind: "bisect", second: "run" },
    RunsPart::Guesses { behind: "foreach", with: "submodule" },
    RunsPart::Texts { behind: "filter-branch" },
];

// The long options with which sub-commands of git only read.

// Left out: options that run a program or write a file, such as `--ext-diff` and `--output`. What
// takes an attached value only must not take the next word here: `branch --abbrev x` creates `x`.
const GIT_STATUS: &[Words] = &["\
    short branch show-stash porcelain? long verbose untracked-files? ignored? ignore-submodules? \
    column? ahead-behind no-ahead-behind renames no-renames find-renames?"];
const GIT_LOG: Words = "\
    abbrev? abbrev-commit no-abbrev-commit color? date= decorate? decorate-refs= encoding= \
    format? graph name-only name-status no-color no-decorate no-graph no-notes no-show-signature \
    notes? oneline parents pretty? relative-date source children left-right raw root cc";
const GIT_COMMITS: Words = "\
    after= all all-match ancestry-path? author= basic-regexp before= boundary branches? cherry \
    cherry-mark cherry-pick committer= date-order exclude= extended-regexp first-parent \
    fixed-strings follow full-history glob= grep= grep-reflog= invert-grep left-only max-count= \
    max-parents= merge merges min-parents= no-merges no-walk? not perl-regexp reflog \
    regexp-ignore-case remotes? remove-empty reverse right-only show-pulls \
    simplify-by-decoration simplify-merges since= skip= sparse tags? topo-order until= \
    walk-reflogs author-date-order email numbered summary group=";
const GIT_LISTS: &[Words] = &[GIT_LOG, GIT_COMMITS];
const GIT_HISTORY: &[Words] = &[GIT_LOG, GIT_COMMITS, GIT_DIFF];
const GIT_DIFF: Words = "\
    abbrev? anchored= binary break-rewrites? cached check color? color-moved? color-words? \
    compact-summary cumulative diff-algorithm= diff-filter= dirstat? dst-prefix= exit-code \
    find-copies? find-copies-harder find-object= find-renames? full-index function-context \
    histogram ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines= \
    ignore-space-at-eol ignore-space-change ignore-submodules? indent-heuristic \
    inter-hunk-context= irreversible-delete merge-base minimal name-only name-status no-color \
    no-color-moved no-ext-diff no-patch no-prefix no-relative no-renames no-textconv numstat \
    patch patch-with-stat patience pickaxe-all pickaxe-regex quiet raw relative? rename-empty \
    shortstat src-prefix= staged stat? submodule? summary text unified? word-diff? \
    word-diff-regex= ws-error-highlight=";
const GIT_BLAME: &[Words] = &["\
    porcelain line-porcelain incremental date= abbrev? show-name show-number show-email root \
    since= progress"];
const GIT_BRANCH: &[Words] = &["\
    all remotes verbose show-current color? no-color column? sort= format= contains= \
    no-contains= merged? no-merged? points-at= ignore-case abbrev? no-abbrev list"];
const LISTED: Operands = Operands::Listed("l list merged no-merged contains no-contains points-at");
const GIT_REV_PARSE: &[Words] = &["\
    abbrev-ref? short? verify quiet show-toplevel git-dir absolute-git-dir git-common-dir \
    show-cdup show-prefix symbolic-full-name symbolic is-inside-work-tree is-inside-git-dir \
    is-bare-repository all is-shallow-repository branches? tags? remotes? \
    show-superproject-working-tree show-object-format?"];
const GIT_DESCRIBE: &[Words] = &["\
    all tags contains abbrev? candidates= exact-match long match= exclude= always first-parent \
    dirty? broken?"];
const GIT_LS_FILES: &[Words] = &["\
    cached deleted modified others stage unmerged ignored directory exclude= exclude-standard \
    full-name error-unmatch abbrev? eol debug recurse-submodules"];
const GIT_GREP: &[Words] = &["\
    cached untracked text ignore-case word-regexp invert-match extended-regexp basic-regexp \
    perl-regexp fixed-strings line-number files-with-matches files-without-match name-only count \
    column only-matching heading break show-function function-context context= after-context= \
    before-context= max-depth= threads= color? no-color quiet all-match full-name null \
    max-count="];

// Options and settings that change what git runs.

/// Settings that make git run a program, besides aliases.
const PROGRAMS: &str = "core.hookspath core.pager core.fsmonitor core.sshcommand core.editor \
    credential.helper sequence.editor diff.external init.templatedir include.path gpg.program \
    core.gitproxy core.askpass";

/// The ends of such settings for a kind of file, a tool, a remote or an address.
const RUN_BY_KEY: &str = "\
    .textconv .command .cmd .driver .helper .program .difffilter .defaultkeycommand .uploadpack \
    .receivepack .vcs .packobjectshook .alternaterefscommand .smtpserver .sendmailcmd";

/// Returns true when `git config` sets such a setting.
fn sets_a_program(args: &Arguments<'_, '_>) -> bool {
    let runs = args.named().windows(2).any(|pair| {
        let [key, value] = pair else { return false };
        let key = key.text.to_ascii_lowercase();
        let alias = key.starts_with("alias.") && value.text.trim_start().starts_with('!');
        alias
            || listed(PROGRAMS, &key)
            || key.starts_with("filter.")
            || key.starts_with("includeif.")
            || ends(RUN_BY_KEY, &key)
    });
    // Look-ups and `--unset` mention the key without setting it.
    let reads =
        args.any(|text| text.starts_with("--get") || listed("--list -l --unset --unset-all", text));
    runs && !reads
}

/// Returns true when `git config` only looks up a setting: one key, or behind such an option.
fn shows_a_setting(args: &Arguments<'_, '_>) -> bool {
    // The file may be outside the project, whatever is looked up in it.
    let is_plain = |text: &str| {
        let name = text.split('=').next().unwrap_or(text);
        !text.starts_with('-') || listed(CONFIG_LOOKS, name) || listed(CONFIG_PLAIN, name)
    };
    let verb = args.texts().next().unwrap_or_default();
    let looks = args.has(CONFIG_LOOKS) || matches!(verb, "get" | "list");
    let one = args.named().len() == 1 && verb != "edit";
    args.texts().all(is_plain) && (looks || one)
}

const CONFIG_LOOKS: Words = "\
    --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list -l";
const CONFIG_PLAIN: Words = "\
    --global --local --system --worktree --type --bool --int --path --name-only --null -z --all \
    --show-origin --show-scope --show-names --includes --no-includes --default --regexp --value \
    --fixed-value --url";

/// Returns true for `.`, `*`, `:/`, `:(top)` and `:!x`, which is everything but `x`.
fn names_every_file(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| {
        let text = &*word.text;
        let magic = text.strip_prefix(":(").and_then(|magic| magic.split_once(')'));
        let path = match magic {
            Some((magic, _)) if magic.contains("exclude") => "",
            Some((_, path)) => path,
            None => text.strip_prefix(":/").unwrap_or(text),
        };
        let excludes = text.starts_with(":!") || text.starts_with(":^");
        everything(word) || excludes || path.is_empty() || listed("* ** **/* . ./ :", path)
    })
}

/// Returns true when unreachable commits are dropped at once, as by `git prune` alone.
fn prunes_at_once(args: &Arguments<'_, '_>) -> bool {
    let is_old = |when: &str| {
        when == "never"
            || when.starts_with('-')
            || ["week", "month"].iter().any(|it| when.contains(it))
    };
    let given = args.values("--prune --expire");
    given.iter().any(|when| !is_old(when)) || args.sub == "prune" && given.is_empty()
}

/// Returns true when the repository is an address or a path: a remote has a name.
fn names_an_address(args: &Arguments<'_, '_>) -> bool {
    args.operand(0).contains([':', '/', '~'])
}

/// Returns true for a sub-command that is a part of git and not meant for people.
fn is_internal(args: &Arguments<'_, '_>) -> bool {
    args.sub.contains("--") || begins(INTERNAL, args.sub)
}

/// Returns true for a strategy that git does not bring along: `-s x` runs a program `git-merge-x`.
fn names_a_strategy(args: &Arguments<'_, '_>) -> bool {
    let own = |name: &str| listed("ort recursive resolve octopus ours subtree", name);
    !args.values("-s --strategy").into_iter().all(own)
}

/// Returns true when a file that others run or obey moves, or another file becomes one.
fn moves_what_others_obey(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| obeyed::is_obeyed(&word.text))
}

/// Returns true when an operand is a path outside the project.
fn reads_outside(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| paths::outside(&word.text, args.dirs))
}

/// Returns true when a ref is overwritten (`+main`) or deleted (`:main`).
fn forces_a_ref(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().skip(1).any(|word| word.text.starts_with(['+', ':']))
}

/// Returns true when an operand behind the first is a folder outside the project and not an
/// address.
fn works_outside(args: &Arguments<'_, '_>) -> bool {
    let folders = args.named();
    // The first operand of `clone` is an address and that of `worktree` a verb.
    let mut folders = folders.iter().skip(usize::from(args.sub != "init"));
    folders.any(|word| args.outside(word) && !word.text.contains("://"))
}

/// Returns true when a file whose text becomes a message is outside; `-` is the input.
fn message_from_outside(args: &Arguments<'_, '_>) -> bool {
    let files = args.values("-F --file -t --template");
    files.iter().any(|file| *file != "-" && args.path_outside(file))
}
