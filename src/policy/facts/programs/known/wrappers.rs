//! Programs that run a command that they are given.

use crate::facts::programs::Words;
use crate::facts::programs::condition::When::{Always, Bare};
use crate::facts::programs::condition::case;
use crate::facts::programs::description::{
    AlwaysRule, Passage, Pipe, Program, Role, Runs, Wrapper,
};
use crate::facts::programs::known::RUNS_A_FETCH;
use crate::facts::programs::known::syntax;

pub(crate) static ALL: &[Program] = &[
    Program::named("env")
        .options(syntax::ENV)
        .roles(&[Role::HandsOn])
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Behind(ENV))
        .pipe(Pipe::tells(Bare))
        .grant(AlwaysRule::NEVER),
    Program::named("genv").options(syntax::ENV).runs(Runs::Behind(ENV)),
    Program::named("timeout gtimeout").options(syntax::TIMEOUT).runs(Runs::Behind(TIMEOUT)),
    Program::named("nice").options(syntax::NICE).runs(Runs::Behind(PLAIN)),
    Program::named("ionice").options(syntax::IONICE).runs(Runs::Behind(IONICE)),
    Program::named("nohup")
        .roles(&[Role::KeepsOutput])
        .options(syntax::NOHUP)
        .runs(Runs::Behind(PLAIN)),
    Program::named("setsid").options(syntax::SETSID).runs(Runs::Behind(PLAIN)),
    Program::named("noglob nocorrect").options(syntax::PLAIN).runs(Runs::Behind(PLAIN)),
    Program::named("builtin")
        .options(syntax::PLAIN)
        .runs(Runs::Behind(PLAIN))
        .grant(AlwaysRule::NEVER),
    Program::named("command").options(syntax::COMMAND).runs(Runs::Behind(COMMAND)),
    Program::named("time gtime").options(syntax::TIME).runs(Runs::Behind(TIME)),
    Program::named("stdbuf gstdbuf").options(syntax::STDBUF).runs(Runs::Behind(PLAIN)),
    Program::named("xargs")
        .options(syntax::XARGS)
        .roles(&[Role::HandsOn])
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Behind(XARGS)),
    Program::named("gxargs").options(syntax::XARGS).runs(Runs::Behind(XARGS)),
    Program::named("exec")
        .options(syntax::EXEC)
        .critical(&[RUNS_A_FETCH])
        .runs(Runs::Behind(Wrapper::new(Passage::DenyOnly)))
        .grant(AlwaysRule::NEVER),
    // Their options are not modelled, so every word may be the command, and an allow never passes
    // through.
    Program::named(WRAPPERS_ANYWHERE).runs(Runs::Anywhere { opens_shell: false }),
    Program::named("fakeroot firejail bwrap proot sg dtach abduco nix-shell")
        .runs(Runs::Anywhere { opens_shell: true }),
    Program::named("strace ltrace watch")
        .runs(Runs::Anywhere { opens_shell: false })
        .grant(AlwaysRule::NEVER),
    Program::named("script unshare screen systemd-run busybox toybox coreutils")
        .runs(Runs::Anywhere { opens_shell: true })
        .grant(AlwaysRule::NEVER),
    Program::named("parallel")
        .roles(&[Role::HandsOn])
        .runs(Runs::Anywhere { opens_shell: false })
        .grant(AlwaysRule::NEVER),
    Program::named("tmux")
        .runs(Runs::Anywhere { opens_shell: false })
        .grant(AlwaysRule::words(2).never()),
    Program::named("expect")
        .beyond(&[case(Always, "it runs whatever it is given")])
        .runs(Runs::Anywhere { opens_shell: false })
        .grant(AlwaysRule::NEVER),
    Program::named("gosu").roles(&[Role::Privilege]).runs(Runs::Anywhere { opens_shell: false }),
    Program::named("countersign").runs(Runs::Hosted("acp host mcp-proxy")),
];

const PLAIN: Wrapper = Wrapper::new(Passage::Inner);
// `-C` runs the command elsewhere, `-a` under another name.
const ENV: Wrapper = Wrapper {
    assigns: true,
    opaque: "-C --chdir -a --argv0",
    splits: "-S --split-string",
    ..Wrapper::new(Passage::Inner)
};
const TIMEOUT: Wrapper = Wrapper { operands: 1, ..Wrapper::new(Passage::Inner) };
const IONICE: Wrapper =
    Wrapper { opaque: "-p -P -u --pid --pgid --uid", ..Wrapper::new(Passage::Inner) };
const COMMAND: Wrapper = Wrapper { tells: "-v -V", ..Wrapper::new(Passage::Inner) };
const TIME: Wrapper =
    Wrapper { opaque: "-o --output-file -a --append", ..Wrapper::new(Passage::Inner) };
// xargs appends words that are not in the text.
const XARGS: Wrapper = Wrapper {
    open: true,
    // `-a` reads a file that no rule sees.
    opaque: "-a --arg-file --process-slot-var",
    fills: "-I -i --replace -J",
    ..Wrapper::new(Passage::Inner)
};
const WRAPPERS_ANYWHERE: Words = "\
    flock taskset chrt setarch start-stop-daemon runcon systemd-inhibit rlwrap chronic \
    caffeinate xvfb-run dbus-run-session unbuffer torsocks proxychains proxychains4 \
    valgrind perf setpriv capsh cgexec numactl prlimit hyperfine entr eatmydata tini \
    dumb-init watchexec run-parts linux32 linux64 i386 x86_64 daemonize \
    choom uclampset ld.so su-exec setuidgid chpst envdir softlimit \
    sshpass catchsegv faketime wine qemu-x86_64 ld-linux aa-exec ld-linux* ld-musl*";
