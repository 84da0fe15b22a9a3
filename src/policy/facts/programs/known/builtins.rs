//! Builtins of the shell, and programs that only print.

use crate::facts::programs::condition::When::{Always, Bare, Has, Starts};
use crate::facts::programs::condition::{case, critical, options};
use crate::facts::programs::description::{
    AlwaysRule, Depth, Operands, Pipe, Program, Role, reading,
};
use crate::facts::programs::known::READS;
use crate::facts::programs::known::syntax;

pub(crate) static ALL: &[Program] = &[
    Program::named(": [ test exit return break continue shift read cd local wait")
        .roles(&[Role::Quiet])
        .depth(Depth::Names),
    Program::named("true false")
        .roles(&[Role::Quiet])
        .reads(&[reading("", "", &[], Operands::Words)])
        .depth(Depth::Names),
    Program::named("[[").depth(Depth::Opens),
    // Alone, `set` and `export` print every variable, secrets included.
    Program::named("set").roles(&[Role::Quiet]).depth(Depth::Names).pipe(Pipe::tells(Bare)),
    Program::named("pushd popd readonly unalias getopts let sleep").depth(Depth::Names),
    Program::named("export")
        .roles(&[Role::Quiet])
        .critical(&[critical(Starts("HISTFILE HISTSIZE=0"), TRACKS)])
        .depth(Depth::Names)
        .pipe(Pipe::tells(Bare))
        .grant(AlwaysRule::NEVER),
    Program::named("declare")
        .roles(&[Role::Quiet])
        .critical(&[critical(Starts("HISTFILE HISTSIZE=0"), TRACKS)])
        .depth(Depth::Names)
        .grant(AlwaysRule::NEVER),
    Program::named("typeset alias").depth(Depth::Names).grant(AlwaysRule::NEVER),
    Program::named("unset")
        .roles(&[Role::Quiet])
        .critical(&[critical(Starts("HISTFILE HISTSIZE=0"), TRACKS)])
        .depth(Depth::Names),
    Program::named("echo printf")
        .roles(&[Role::Says, Role::Quiet])
        .reads(&[reading("", "", &[], Operands::Words)])
        .depth(Depth::Names),
    Program::named("pwd")
        .roles(&[Role::Quiet])
        .reads(&[reading("LP", "", &[], Operands::None)])
        .depth(Depth::Opens),
    Program::named("type which")
        .reads(&[reading("abasmtpP", "", &["all"], Operands::Literals)])
        .depth(Depth::Names),
    // Clearing the history hides what ran from a later review.
    Program::named("history")
        .critical(&[critical(Has("-c -w -d"), TRACKS)])
        .pipe(Pipe::tells(Always)),
    Program::named("seq expr").reads(&[reading("", "", &[], Operands::Words)]).depth(Depth::Names),
    Program::named("yes").roles(&[Role::Endless]),
    Program::named("whereis").reads(&[reading("abasmtpP", "", &["all"], Operands::Literals)]),
    // `-s` sets the clock and `-f` reads a file.
    Program::named("date")
        .options(syntax::DATE)
        .reads(&[reading("uR", "d", &["date= utc rfc-3339= iso-8601?"], Operands::Format)])
        .beyond(&[case(options("--file --set", "fs", "drI"), READS)])
        .depth(Depth::Names),
    Program::named("cal").reads(&[reading("13y", "", &[], Operands::Literals)]),
    // With a name it prints one variable, which must be known to hold no secret.
    Program::named("printenv")
        .reads(&[reading("", "", &[], Operands::Variables)])
        .pipe(Pipe::tells(Bare)),
];

const TRACKS: &str = "covers its tracks";
