//! Interpreters.

use super::common::RUNS_A_FETCH;
use crate::facts::programs::case::{case, drops, judge};
use crate::facts::programs::checks::{code, tools};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::grant::Grant;
use crate::facts::programs::when::When::{All, Always, Any, Nth, Operand, OperandEnds, Test};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("python")
        .roles(&[Role::Interpreter])
        .versions("--version -V")
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[
            drops(All(&[Operand("flush reset_db sqlflush"), OperandEnds("manage.py")])),
            RUNS_A_FETCH,
            judge(code::code),
        ])
        .grant(Grant::words(2)),
    Program::named("python3")
        .roles(&[Role::Interpreter])
        .versions("--version -V")
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[
            drops(All(&[Operand("flush reset_db sqlflush"), OperandEnds("manage.py")])),
            RUNS_A_FETCH,
            judge(code::code),
        ]),
    Program::named(INTERPRETERS_NAMES).roles(&[Role::Interpreter]).critical(&[RUNS_A_FETCH]),
    Program::named("node perl")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[RUNS_A_FETCH, judge(code::code)]),
    Program::named("deno")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[RUNS_A_FETCH])
        .grant(
            Grant::words(2).three("task").never_subs("eval").scripts("check fmt lint task test"),
        ),
    Program::named("ruby")
        .roles(&[Role::Interpreter])
        .versions("--version")
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[RUNS_A_FETCH, judge(code::code)]),
    Program::named("php")
        .roles(&[Role::Interpreter])
        .versions("--version -v")
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[
            drops(Operand("migrate:fresh migrate:reset migrate:refresh db:wipe")),
            RUNS_A_FETCH,
            judge(code::code),
        ]),
    Program::named("lua")
        .roles(&[Role::Interpreter])
        .beyond(&[case(Test(tools::runs_the_unknown), "what it runs is only known when it runs")])
        .critical(&[RUNS_A_FETCH, judge(code::code)]),
    Program::named("tclsh ghci")
        .roles(&[Role::Interpreter])
        .beyond(&[case(Always, "it runs whatever it is given")])
        .critical(&[RUNS_A_FETCH]),
    Program::named("osascript")
        .roles(&[Role::Interpreter])
        .critical(&[RUNS_A_FETCH])
        .grant(Grant::NEVER),
    Program::named("manage.py")
        .critical(&[drops(All(&[Operand("flush reset_db sqlflush"), OperandEnds("manage.py")]))]),
    Program::named("django-admin").critical(&[drops(Any(&[
        Nth(0, "flush"),
        All(&[Operand("flush reset_db sqlflush"), OperandEnds("manage.py")]),
    ]))]),
    Program::named("artisan")
        .critical(&[drops(Operand("migrate:fresh migrate:reset migrate:refresh db:wipe"))]),
    Program::named("irb byebug gnuplot").beyond(&[case(Always, "it runs whatever it is given")]),
];

const INTERPRETERS_NAMES: Words = "\
    python2 pypy pypy3 nodejs luajit Rscript R julia guile runghc scala groovy elixir erl iex \
    swipl jshell tsx ts-node ipython python*";
