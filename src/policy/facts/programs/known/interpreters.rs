//! Interpreters.

use super::common::{RUNS_A_FETCH, RUNS_ANYTHING};
use crate::facts::programs::case::{Case, case, drops, judge};
use crate::facts::programs::checks::{code, tools};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::when::When::{self, All, Any, Nth, Operand, OperandEnds, Test};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    PYTHON.grant(AlwaysRule::words(2)),
    PYTHON.renamed("python3"),
    Program::named(INTERPRETERS_NAMES).roles(&[Role::Interpreter]).critical(&[RUNS_A_FETCH]),
    Program::named("node perl")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[RUNS_A_FETCH, judge(code::code)]),
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
        .critical(&[RUNS_A_FETCH, judge(code::code)]),
    Program::named("php")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[DROPS_ALL_TABLES, RUNS_A_FETCH, judge(code::code)]),
    Program::named("lua")
        .roles(&[Role::Interpreter])
        .beyond(&[RUNS_THE_UNKNOWN])
        .critical(&[RUNS_A_FETCH, judge(code::code)]),
    Program::named("tclsh ghci")
        .roles(&[Role::Interpreter])
        .beyond(&[RUNS_ANYTHING])
        .critical(&[RUNS_A_FETCH]),
    Program::named("osascript")
        .roles(&[Role::Interpreter])
        .critical(&[RUNS_A_FETCH])
        .grant(AlwaysRule::NEVER),
    Program::named("manage.py").critical(&[FLUSHES]),
    Program::named("django-admin").critical(&[drops(Any(&[Nth(0, "flush"), MANAGE_FLUSHES]))]),
    Program::named("artisan").critical(&[DROPS_ALL_TABLES]),
    Program::named("irb byebug gnuplot").beyond(&[RUNS_ANYTHING]),
];

const PYTHON: Program = Program::named("python")
    .roles(&[Role::Interpreter])
    .versions("--version -V")
    .beyond(&[RUNS_THE_UNKNOWN])
    .critical(&[FLUSHES, RUNS_A_FETCH, judge(code::code)]);
// A grant for `python` covers `python script.py`, but `python $x` may be anything.
const RUNS_THE_UNKNOWN: Case =
    case(Test(tools::runs_the_unknown), "what it runs is only known when it runs");
const MANAGE_FLUSHES: When = All(&[Operand("flush reset_db sqlflush"), OperandEnds("manage.py")]);
const FLUSHES: Case = drops(MANAGE_FLUSHES);
const DROPS_ALL_TABLES: Case =
    drops(Operand("migrate:fresh migrate:reset migrate:refresh db:wipe"));
const INTERPRETERS_NAMES: Words = "\
    python2 pypy pypy3 nodejs luajit Rscript R julia guile runghc scala groovy elixir erl iex \
    swipl jshell tsx ts-node ipython python*";
