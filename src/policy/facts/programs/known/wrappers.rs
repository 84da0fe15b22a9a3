//! Programs that run a command that they are given.

use super::common::RUNS_A_FETCH;
use crate::facts::programs::case::case;
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::reach::Pipe;
use crate::facts::programs::runs::{Passage, Runs, Wrapper};
use crate::facts::programs::when::When::{Always, Bare};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("env")
        .roles(&[Role::HandsOn])
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Behind(ENV))
        .pipe(Pipe::tells(Bare))
        .grant(AlwaysRule::NEVER),
    Program::named("genv").runs(Runs::Behind(ENV)),
    Program::named("timeout gtimeout").runs(Runs::Behind(TIMEOUT)),
    Program::named("nice").runs(Runs::Behind(Wrapper::new(Passage::Inner, "n", "adjustment"))),
    Program::named("ionice").runs(Runs::Behind(IONICE)),
    Program::named("nohup noglob nocorrect setsid").runs(Runs::Behind(Wrapper::new(
        Passage::Inner,
        "",
        "",
    ))),
    Program::named("builtin")
        .runs(Runs::Behind(Wrapper::new(Passage::Inner, "", "")))
        .grant(AlwaysRule::NEVER),
    Program::named("command").runs(Runs::Behind(COMMAND)),
    Program::named("time gtime").runs(Runs::Behind(TIME)),
    Program::named("stdbuf gstdbuf").runs(Runs::Behind(Wrapper::new(
        Passage::Inner,
        "ioe",
        "input output error",
    ))),
    Program::named("xargs")
        .roles(&[Role::HandsOn])
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Behind(XARGS)),
    Program::named("gxargs").runs(Runs::Behind(XARGS)),
    Program::named("exec")
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Behind(Wrapper::new(Passage::DenyOnly, "a", "")))
        .grant(AlwaysRule::NEVER),
    // watch joins its words and passes them to `sh -c`.
    Program::named("watch").runs(Runs::Joined("nd")).grant(AlwaysRule::NEVER),
    // Their options are not modelled, so every word may be the command, and an allow never passes
    // through.
    Program::named(WRAPPERS_ANYWHERE).runs(Runs::Anywhere),
    Program::named("strace ltrace unshare systemd-run script screen busybox toybox")
        .runs(Runs::Anywhere)
        .grant(AlwaysRule::NEVER),
    Program::named("parallel")
        .roles(&[Role::HandsOn])
        .runs(Runs::Anywhere)
        .grant(AlwaysRule::NEVER),
    Program::named("tmux").runs(Runs::Anywhere).grant(AlwaysRule::words(2).never()),
    Program::named("expect")
        .beyond(&[case(Always, "it runs whatever it is given")])
        .runs(Runs::Anywhere)
        .grant(AlwaysRule::NEVER),
    Program::named("gosu").roles(&[Role::Privilege]).runs(Runs::Anywhere),
    Program::named("countersign").runs(Runs::Hosted("host mcp-proxy")),
];

const ENV: Wrapper = Wrapper {
    assigns: true,
    /* `-S` splits a string into a command, `-C` runs it elsewhere. */
    opaque: "-S --split-string -C --chdir",
    ..Wrapper::new(Passage::Inner, "uCS", "unset chdir split-string")
};
const TIMEOUT: Wrapper =
    Wrapper { operands: 1, ..Wrapper::new(Passage::Inner, "ks", "kill-after signal") };
const IONICE: Wrapper = Wrapper {
    opaque: "-p -P -u",
    ..Wrapper::new(Passage::Inner, "cnpPu", "class classdata pid pgid uid")
};
const COMMAND: Wrapper = Wrapper { tells: "-v -V", ..Wrapper::new(Passage::Inner, "", "") };
const TIME: Wrapper = Wrapper {
    opaque: "-o --output -a --append",
    ..Wrapper::new(Passage::Inner, "fo", "format output")
};
// xargs appends words that are not in the text.
const XARGS: Wrapper = Wrapper {
    open: true,
    /* It reads a file that no rule sees. */
    opaque: "-a --arg-file",
    ..Wrapper::new(Passage::Inner, "IadELnPsJRS", XARGS_VALUES)
};
const WRAPPERS_ANYWHERE: Words = "\
    flock taskset chrt setarch start-stop-daemon runcon systemd-inhibit rlwrap chronic \
    caffeinate fakeroot xvfb-run dbus-run-session unbuffer torsocks proxychains proxychains4 \
    valgrind perf setpriv capsh sg cgexec numactl prlimit hyperfine entr eatmydata tini \
    dumb-init watchexec firejail bwrap proot run-parts linux32 linux64 i386 x86_64 daemonize \
    choom uclampset ld.so su-exec setuidgid chpst envdir softlimit dtach abduco nix-shell \
    sshpass catchsegv faketime wine qemu-x86_64 ld-linux aa-exec ld-linux* ld-musl*";
const XARGS_VALUES: Words = "\
    arg-file delimiter max-lines max-args max-procs max-chars process-slot-var";
