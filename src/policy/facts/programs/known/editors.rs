//! Editors and calculators, which can run programs.

use super::common::{STARTS_ANOTHER, TEXT_VALUES, WRITE_VALUES};
use crate::facts::programs::case::case;
use crate::facts::programs::description::Program;
use crate::facts::programs::files::{Access, Files};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::when::When::{Always, Holds};

pub(crate) static ALL: &[Program] = &[
    Program::named("ed ex")
        .beyond(&[case(Always, "it runs whatever it is given")])
        .files(Files::Each { access: Access::Write, skip: 0, values: WRITE_VALUES })
        .grant(AlwaysRule::NEVER),
    Program::named("vi vim view")
        .beyond(&[case(Always, "it runs whatever it is given")])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES })
        .grant(AlwaysRule::NEVER),
    Program::named("nvim emacs")
        .beyond(&[case(Always, "it runs whatever it is given")])
        .grant(AlwaysRule::NEVER),
    Program::named("nano")
        .beyond(&[case(Always, "it runs whatever it is given")])
        .files(Files::Each { access: Access::Read, skip: 0, values: TEXT_VALUES }),
    Program::named("pico").beyond(&[case(Always, "it runs whatever it is given")]),
    // In dc a `!` runs a shell command, and `?` reads one.
    Program::named("dc").beyond(&[case(Always, "it runs whatever it is given")]),
    Program::named("bc").beyond(&[case(Holds(&["!"]), STARTS_ANOTHER)]),
];
