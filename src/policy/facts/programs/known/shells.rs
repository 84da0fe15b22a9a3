//! Shells, and builtins that run a text.

use super::common::RUNS_A_FETCH;
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::{Access, Files};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::runs::Runs;

pub(crate) static ALL: &[Program] = &[
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
    Program::named("zsh ksh fish csh tcsh pwsh mksh powershell nu xonsh")
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
