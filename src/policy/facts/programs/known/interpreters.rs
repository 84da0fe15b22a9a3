//! Interpreters.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{self, All, Any, Nth, Operand, OperandEnds, Test};
use crate::facts::programs::condition::{Case, case, drops, judge};
use crate::facts::programs::description::{Access, AlwaysRule, Files, Program, Role, Runs};
use crate::facts::programs::known::{RUNS_A_FETCH, RUNS_ANYTHING};
use crate::facts::programs::{FETCHED, REMOTE, Words, listed};
use crate::shell::WordKind;

pub(super) static ALL: &[Program] = &[
    PYTHON.grant(AlwaysRule::words(2)),
    PYTHON.renamed("python3"),
    Program::named(INTERPRETERS_NAMES).roles(&[Role::Interpreter]).critical(&[RUNS_A_FETCH]),
    Program::named("node perl")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[RUNS_A_FETCH, judge(code)]),
    Program::named("deno")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[RUNS_A_FETCH])
        .grant(
            AlwaysRule::words(2)
                .three("task")
                .never_subs("eval")
                .scripts("check fmt lint task test"),
        ),
    Program::named("ruby")
        .roles(&[Role::Interpreter])
        .versions("--version")
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[RUNS_A_FETCH, judge(code)]),
    Program::named("php")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[DROPS_ALL_TABLES, RUNS_A_FETCH, judge(code)]),
    Program::named("lua")
        .roles(&[Role::Interpreter])
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[RUNS_A_FETCH, judge(code)]),
    Program::named("tclsh ghci")
        .roles(&[Role::Interpreter])
        .beyond(&[RUNS_ANYTHING])
        .critical(&[RUNS_A_FETCH]),
    Program::named("osascript")
        .roles(&[Role::Interpreter])
        .critical(&[RUNS_A_FETCH])
        .grant(AlwaysRule::NEVER),
    Program::named("manage.py").critical(&[drops(Operand("flush reset_db"))]),
    Program::named("django-admin").critical(&[drops(Any(&[Nth(0, "flush"), MANAGE_FLUSHES]))]),
    Program::named("artisan").critical(&[DROPS_ALL_TABLES]),
    Program::named("irb byebug gnuplot").beyond(&[RUNS_ANYTHING]),
];

const PYTHON: Program = Program::named("python")
    .roles(&[Role::Interpreter])
    .versions("--version -V")
    .beyond(&[RUNS_THE_UNKNOWN])
    .critical(&[FLUSHES, RUNS_A_FETCH, judge(code)]);
// A grant for `python` covers `python script.py`, but `python $x` may be anything.
const RUNS_THE_UNKNOWN: Case =
    case(Test(runs_the_unknown), "what it runs is only known when it runs");
const MANAGE_FLUSHES: When = All(&[Operand("flush reset_db sqlflush"), OperandEnds("manage.py")]);
const FLUSHES: Case = drops(MANAGE_FLUSHES);
const DROPS_ALL_TABLES: Case =
    drops(Operand("migrate:fresh migrate:reset migrate:refresh db:wipe"));
const INTERPRETERS_NAMES: Words = "\
    python2 pypy pypy3 nodejs luajit Rscript R julia guile runghc scala groovy elixir erl iex \
    swipl jshell tsx ts-node ipython python*";

/// Returns true when the program of an interpreter is known only at run time.
fn runs_the_unknown(args: &Arguments<'_, '_>) -> bool {
    args.open || args.words.first().is_some_and(|word| word.kind == WordKind::Dynamic)
}

pub(super) static SHELLS: &[Program] = &[
    Program::named("sh dash ash rbash")
        .roles(&[Role::Shell])
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Shell)
        .grant(AlwaysRule::NEVER),
    Program::named("bash")
        .roles(&[Role::Shell])
        .versions("--version")
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Shell)
        .grant(AlwaysRule::NEVER),
    Program::named("pwsh powershell pwsh.exe powershell.exe")
        .roles(&[Role::Shell])
        .critical(&[RUNS_A_FETCH, judge(powershell)])
        .runs(Runs::OtherShell)
        .grant(AlwaysRule::NEVER),
    Program::named("cmd cmd.exe").critical(&[judge(command_prompt)]),
    Program::named("zsh ksh fish csh tcsh mksh nu xonsh")
        .roles(&[Role::Shell])
        .critical(&[RUNS_A_FETCH])
        // The scanner does not know their grammar.
        .runs(Runs::OtherShell)
        .grant(AlwaysRule::NEVER),
    Program::named("eval").critical(&[RUNS_A_FETCH]).runs(Runs::Text).grant(AlwaysRule::NEVER),
    Program::named("trap").runs(Runs::Later).grant(AlwaysRule::NEVER),
    Program::named("source .")
        .critical(&[RUNS_A_FETCH])
        .files(Files::Each { access: Access::Read, skip: 0, values: "" })
        .runs(Runs::Sourced)
        .grant(AlwaysRule::NEVER),
];

/// Checks programs given on an interpreter's command line, for the plainest patterns only.
fn code(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let given = args.words.windows(2).filter_map(|pair| match pair {
        [option, code] if matches!(&*option.text, "-c" | "-e" | "-E" | "-r" | "--eval" | "-p") => {
            Some(&*code.text)
        }
        _ => None,
    });
    // Code can hide anything, so this is no protection: running it needs an allow in the first
    // place. The list only makes the plainest cases critical.
    for code in given {
        let forks = code.contains("fork")
            && ["while", "loop", "for(;;)", "for (;;)", "until"].iter().any(|w| code.contains(w));
        if forks {
            return Some("starts copies of itself without end");
        }
        let connects =
            code.contains("socket") || code.contains("Socket") || code.contains("fsockopen");
        let shell = ["/bin/sh", "/bin/bash", "pty.spawn", "subprocess", "exec("]
            .iter()
            .any(|w| code.contains(w));
        if connects && shell {
            return Some(REMOTE);
        }
        let fetches =
            code.contains("urlopen") || code.contains("requests.get") || code.contains("urllib");
        if fetches && (code.contains("exec(") || code.contains("eval(")) {
            return Some(FETCHED);
        }
        let removes = |call: &&str| code.split(call).skip(1).any(is_vast);
        let shell = ["rm -rf /", "rm -rf ~"].iter().any(|w| code.contains(w));
        if shell || REMOVERS.iter().any(removes) {
            return Some(DELETES_ALL);
        }
    }
    None
}

/// Calls of several languages that delete a folder with everything in it.
const REMOVERS: &[&str] = &["rmtree(", "rm_rf(", "rm_r(", "rmSync(", "remove_tree(", "rimraf("];

/// Returns true when the first argument of such a call is a root or a home.
fn is_vast(arguments: &str) -> bool {
    let named = arguments.trim_start().trim_start_matches(['\'', '"', '`']);
    let path = named.split(['\'', '"', '`', ')', ',']).next().unwrap_or_default();
    let home = ["/home", "os.path.expanduser", "os.homedir", "Dir.home", "process.env.HOME"];
    matches!(path, "/" | "~" | "~/") || home.iter().any(|start| path.starts_with(start))
}

// The shells of Windows, for the plainest patterns only.

/// Roots and homes, as these shells write them.
const VAST: Words = "/ /* ~ ~/ ~/* c: c:/ c:/* $home $env:userprofile %userprofile% * . ./*";

/// Splits what is said to such a shell into words in lower case, with `/` between folders.
fn said(args: &Arguments<'_, '_>) -> Vec<String> {
    let said = args.texts().collect::<Vec<_>>().join(" ").to_ascii_lowercase().replace('\\', "/");
    let ends = |c: char| c.is_whitespace() || "\"';|&(){},".contains(c);
    said.split(ends).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn names(said: &[String], list: Words) -> bool {
    said.iter().any(|word| listed(list, word))
}

/// Checks what PowerShell is told to run.
fn powershell(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let said = &said(args)[..];
    let encoded = |word: &String| {
        let option = word.strip_prefix('-').unwrap_or_default();
        option == "ec" || option.len() > 1 && "encodedcommand".starts_with(option)
    };
    let fetches = "iwr irm curl wget invoke-webrequest invoke-restmethod start-bitstransfer";
    if names(said, "iex invoke-expression")
        && (names(said, fetches) || said.iter().any(|word| word.contains("download")))
    {
        return Some(FETCHED);
    }
    if said.iter().any(encoded) {
        return Some("runs a text that is encoded");
    }
    if names(said, "clear-disk format-volume initialize-disk remove-partition") {
        return Some("erases a disk");
    }
    if names(said, "stop-computer restart-computer") {
        return Some("stops the machine or everything on it");
    }
    let recursive = said.iter().any(|word| word.len() > 1 && "-recurse".starts_with(&**word));
    (names(said, "remove-item ri rm del erase rd rmdir") && recursive && names(said, VAST))
        .then_some(DELETES_ALL)
}

/// Checks what the prompt of Windows is told to run.
fn command_prompt(args: &Arguments<'_, '_>) -> Option<&'static str> {
    let said = &said(args)[..];
    if names(said, "format format.com") && said.iter().any(|word| word.ends_with(':')) {
        return Some("erases a disk");
    }
    (names(said, "del erase rd rmdir") && names(said, "/s") && names(said, VAST))
        .then_some(DELETES_ALL)
}

const DELETES_ALL: &str = "deletes a root, a home, a system directory or everything here";
