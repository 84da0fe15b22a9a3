//! git: one name, many programs.

use super::git_forms::{
    GIT_BLAME, GIT_BRANCH, GIT_COMMITS, GIT_DESCRIBE, GIT_DIFF, GIT_GREP, GIT_LOG, GIT_LS_FILES,
    GIT_REV_PARSE, GIT_STATUS, LISTED,
};
use crate::facts::programs::case::{case, sub};
use crate::facts::programs::checks::git;
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::Depth;
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::reach::{Reach, Title, To};
use crate::facts::programs::reading::{Operands, form};
use crate::facts::programs::runs::{Runs, RunsPart};
use crate::facts::programs::when::{
    When,
    When::{
        All, Always, Any, AtLeast, Bare, First, Flag, Has, Not, Nth, Operand, Outside, Starts, Sub,
        Surely, Test, Uncertain,
    },
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[Program::named("git")
    .roles(&[Role::Titled, Role::Many, Role::ObeysFolder])
    .global(GIT_GLOBAL)
    // Other options in front, such as `-c` and `--exec-path`, may make git run any program.
    .plain("--no-pager --no-optional-locks --literal-pathspecs")
    .reads(&[
        form("status", "sbuvz", "", GIT_STATUS, Operands::Revisions),
        form(
            "log",
            "pucgiEFPswabRz#qtrmMCB",
            "nUSGL",
            &[GIT_LOG, GIT_COMMITS, GIT_DIFF],
            Operands::Revisions,
        ),
        form(
            "whatchanged",
            "psz#MC",
            "nUSGL",
            &[GIT_LOG, GIT_COMMITS, GIT_DIFF],
            Operands::Revisions,
        ),
        form(
            "show",
            "pusqwzcmrt#MC",
            "nUSGL",
            &[GIT_LOG, GIT_COMMITS, GIT_DIFF],
            Operands::Revisions,
        ),
        form("diff", "puswbazR#MCB", "nUSG", &[GIT_DIFF], Operands::Revisions),
        form("diff-tree", "pruswbazctmMC", "U", &[GIT_LOG, GIT_DIFF], Operands::Revisions),
        form("diff-index", "puswbazMC", "U", &[GIT_DIFF], Operands::Revisions),
        form("diff-files", "puswbazMC", "U", &[GIT_DIFF], Operands::Revisions),
        form("range-diff", "s", "", &[GIT_DIFF], Operands::Revisions),
        form("shortlog", "nsecw", "", &[GIT_LOG, GIT_COMMITS], Operands::Revisions),
        form("blame", "lteswcfnpbkMC", "L", GIT_BLAME, Operands::Revisions),
        form("annotate", "lteswcfnpbkMC", "L", GIT_BLAME, Operands::Revisions),
        form("branch", "arvqi", "", GIT_BRANCH, Operands::None),
        form(
            "branch",
            "arvqil",
            "",
            &["list sort= format= contains= merged? no-merged? color?"],
            LISTED,
        ),
        form(
            "tag",
            "ln#i",
            "",
            &["list sort= format= contains= merged? no-merged? points-at="],
            LISTED,
        ),
        form("remote", "v", "", &["verbose"], Operands::None),
        form("remote get-url", "", "", &["all push"], Operands::Literals),
        form("stash list", "psz#", "n", &[GIT_LOG, GIT_DIFF], Operands::Revisions),
        form("stash show", "pusz", "", &[GIT_DIFF, "include-untracked"], Operands::Revisions),
        form("worktree list", "vz", "", &["porcelain verbose"], Operands::None),
        form("submodule status", "", "", &["cached recursive"], Operands::Revisions),
        form("reflog", "n#", "n", &[GIT_LOG, GIT_COMMITS], Operands::None),
        form("reflog show", "n#", "n", &[GIT_LOG, GIT_COMMITS], Operands::Revisions),
        form("rev-parse", "q", "", GIT_REV_PARSE, Operands::Revisions),
        form("rev-list", "#", "n", &["count objects", GIT_LOG, GIT_COMMITS], Operands::Revisions),
        form(
            "merge-base",
            "a",
            "",
            &["all is-ancestor octopus fork-point independent"],
            Operands::Revisions,
        ),
        form(
            "name-rev",
            "",
            "",
            &["name-only tags always no-undefined refs="],
            Operands::Revisions,
        ),
        form("describe", "", "", GIT_DESCRIBE, Operands::Revisions),
        form("cherry", "v", "", &["verbose abbrev?"], Operands::Revisions),
        form(
            "for-each-ref",
            "",
            "",
            &["count= sort= format= contains= merged? no-merged?"],
            Operands::Revisions,
        ),
        form(
            "show-ref",
            "hdsqv",
            "",
            &["head heads tags branches verify hash? dereference quiet"],
            Operands::Revisions,
        ),
        form("ls-files", "cdmosuitvzkf", "x", GIT_LS_FILES, Operands::Revisions),
        form(
            "ls-tree",
            "rdtlz",
            "",
            &["name-only name-status long full-name full-tree abbrev?"],
            Operands::Revisions,
        ),
        form("cat-file", "tspe", "", &[], Operands::Revisions),
        form("grep", "aIivwhHEGPFnlLcpWoqz#", "eABCm", GIT_GREP, Operands::Pattern("e")),
        form(
            "check-ignore",
            "qvzn",
            "",
            &["verbose quiet non-matching no-index"],
            Operands::Revisions,
        ),
        form("check-attr", "az", "", &["all cached"], Operands::Revisions),
        form("count-objects", "vH", "", &["verbose human-readable"], Operands::None),
        form("clean -n", "dxX", "", &[], Operands::Revisions),
        form("clean --dry-run", "dxX", "", &[], Operands::Revisions),
        form("version", "", "", &["build-options"], Operands::None),
        form("--version", "", "", &[], Operands::None),
        // Only keys that hold no token; `reads::operands` lists them.
        form("config --get", "", "", &[], Operands::Setting),
    ])
    .beyond(&[
        case(options(GIT_RUNNERS, "", ""), GIT_RUNS),
        sub(GIT_PROGRAMS, Always, GIT_RUNS),
        sub("grep", options("", "O", "eABCfm"), GIT_RUNS),
        // `-u` names a program for the other side, `-c` any setting.
        sub("clone", options("", "uc", "bojr"), GIT_RUNS),
        sub("rebase", options("", "x", "sX"), GIT_RUNS),
        sub("bisect", Has("run visualize view"), GIT_RUNS),
        // `submodule foreach` runs a command; only the listing forms run nothing.
        sub("submodule", Not(&Any(&[First("status summary"), Bare])), GIT_RUNS),
        // `--remote` with `--exec` runs a program on the other side.
        sub("archive", options("--remote --exec --output", "o", "l"), GIT_RUNS),
        sub(
            "config",
            Not(&Test(git::shows_a_setting)),
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
            Any(&[options(GIT_FORCES, "fd", "o"), Test(git::forces_a_ref)]),
            "it overwrites or deletes what others see",
        )
        .values(MESSAGES)
        .unless(DRY),
        sub(
            "commit tag",
            Test(git::message_from_outside),
            "it takes a file from outside the project",
        ),
        sub("clean", options("--force", "fxX", "e"), "it deletes files that git does not know")
            .values(MESSAGES)
            .unless(DRY),
        sub("update-ref", Always, REFERENCES),
        sub(
            "symbolic-ref reflog",
            Any(&[Nth(0, "delete expire"), options("", "d", "m")]),
            REFERENCES,
        ),
        sub("gc prune", Test(git::prunes_at_once), "it drops unreachable commits"),
        sub(
            "init worktree clone",
            Any(&[Test(git::works_outside), options("--template", "", "")]),
            "it writes outside the project",
        ),
        sub(
            "blame annotate",
            Outside("--contents -S --ignore-revs-file"),
            "it reads files outside the project",
        ),
        sub(
            "diff",
            All(&[options("--no-index", "", ""), Test(git::names_outside)]),
            "it reads files outside the project",
        ),
        case(options("--output --output-directory", "", ""), GIT_WRITES),
        sub("format-patch", Outside("-o"), GIT_WRITES),
        case(
            All(&[Uncertain, Not(&Sub(GIT_PLAIN))]),
            "a word that is only known when it runs may be an option",
        ),
        // `ext::sh -c …` as an address runs a command.
        case(Starts("ext:: fd:: --upload-pack"), "a transport of it runs a program"),
    ])
    .critical(&[
        sub("push", Any(&[options(GIT_FORCES, "fd", "o"), Test(git::forces_a_ref)]), HISTORY)
            .values(MESSAGES)
            .unless(DRY),
        sub("filter-branch filter-repo", Always, HISTORY).values(MESSAGES),
        sub("update-ref", options("--stdin", "d", "m"), HISTORY).values(MESSAGES),
        sub("reflog", Nth(0, "expire delete"), HISTORY).values(MESSAGES),
        sub("gc prune", Test(git::prunes_at_once), HISTORY).values(MESSAGES),
        sub("clean", options("--force", "f", "e"), HISTORY).values(MESSAGES).unless(DRY),
        sub("reset", options("--hard", "", ""), HISTORY).values(MESSAGES),
        // `git checkout .` drops every uncommitted change.
        sub("checkout", All(&[ALL_FILES, Any(&[Has("--"), Not(&AtLeast(2))])]), HISTORY)
            .values(MESSAGES),
        sub(
            "restore",
            All(&[ALL_FILES, Any(&[Not(&Has("--staged -S")), options("--worktree", "W", "s")])]),
            HISTORY,
        )
        .values(MESSAGES),
        sub(
            "branch",
            Any(&[Flag("D"), All(&[options("--delete", "d", "u"), options("--force", "f", "u")])]),
            HISTORY,
        )
        .values(MESSAGES),
        sub("stash", Nth(0, "clear drop"), HISTORY).values(MESSAGES),
        sub("config", Test(git::sets_a_program), "changes which programs git runs")
            .values("-f --file"),
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
            .three("config remote stash")
            .never_subs("-c config filter-branch")
            .narrow(GIT_OVERWRITES),
    )];

const GIT_OVERWRITES: Words = "\
    checkout switch rm mv branch tag rebase stash worktree submodule update-ref symbolic-ref \
    reflog gc read-tree checkout-index update-index replace";
const GIT_GLOBAL: Words = "\
    -C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix \
    --attr-source";
// `--ext-diff`, `--textconv` and the like run programs that the repository's settings name.
const GIT_RUNNERS: Words = "\
    --ext-diff --textconv --upload-pack --receive-pack --exec --open-files-in-pager \
    --sequence-editor --tool-help --extcmd --template --config --smtp-server --sendmail-cmd \
    --separate-git-dir";
const GIT_RUNS: &str = "an option of git runs another program";
const GIT_PROGRAMS: Words = "\
    difftool mergetool send-email instaweb web--browse daemon shell cvsserver gui p4 svn \
    fast-import hook maintenance credential filter-branch filter-repo apply am";
const GIT_FORCES: Words = "\
    --force --force-with-lease --force-if-includes --mirror --delete --prune";
const REFERENCES: &str = "it rewrites references";
const GIT_WRITES: &str = "an option of git writes a file";
const GIT_PLAIN: Words = "\
    add status stash show-ref rev-parse cat-file ls-files mv rm restore switch checkout commit \
    tag merge reset cherry-pick revert blame";
const HISTORY: &str = "rewrites or deletes history or work that cannot be brought back";
// Their values must not count as operands, as in `-m 'reset --hard'`.
const MESSAGES: Words = "\
    -m -b -o -e --message --push-option --repo --receive-pack --exec --exclude";
const DRY: When = Any(&[options("--dry-run", "n", ""), Surely("-h --help")]);
const ALL_FILES: When = Operand(". :/ * ./");
const GIT_PARTS: &[RunsPart] = &[
    RunsPart::Values { behind: "rebase", options: "-x --exec" },
    RunsPart::Command { behind: "bisect", second: "run" },
    RunsPart::Guesses { behind: "foreach", with: "submodule" },
    RunsPart::Texts { behind: "filter-branch" },
];
