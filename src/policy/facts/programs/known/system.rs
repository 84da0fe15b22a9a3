//! Power, processes, services, jobs and the kernel.

use super::common::{FREE, RUNS};
use crate::facts::programs::case::{Case, case, critical};
use crate::facts::programs::checks::{machine, tools};
use crate::facts::programs::description::{Program, Role};
use crate::facts::programs::files::Depth;
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::reading::{Operands, form, reading};
use crate::facts::programs::runs::Runs;
use crate::facts::programs::when::{
    When::{All, Always, Any, Bare, Flag, Has, Holds, Not, Nth, Operand, Surely, Test},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("shutdown").critical(&[case(Not(&Surely("-c --help --version")), STOPS)]),
    Program::named("reboot poweroff halt killall5 pm-suspend kexec")
        .critical(&[critical(Not(&Surely("-c --help --version")), STOPS)]),
    Program::named("init telinit").critical(&[critical(Nth(0, "0 1 6 s S"), STOPS)]),
    Program::named("kill")
        .beyond(&[case(Test(tools::ends_with_everyone), "it stops every process")])
        .critical(&[critical(Test(machine::kills_all), STOPS)])
        .depth(Depth::Names),
    Program::named("pkill killall")
        .beyond(&[case(Test(tools::ends_with_everyone), "it stops every process")])
        .critical(&[critical(
            Test(machine::kills_many),
            "stops processes of a whole user or of the system",
        )]),
    Program::named("ps").reads(&[reading("", "", &[], Operands::Ps)]),
    Program::named("pgrep pidof").reads(&[reading("acflnovxis", "uPgst", &[], Operands::Literals)]),
    // `--host` and `--root` act on another machine or another system.
    Program::named("systemctl")
        .roles(&[Role::Titled])
        .reads(&[
            form("status", "l", "n", SYSTEMD, Operands::Literals),
            form("is-active", "q", "", SYSTEMD, Operands::Literals),
            form("is-enabled", "q", "", SYSTEMD, Operands::Literals),
            form("is-failed", "q", "", SYSTEMD, Operands::Literals),
            form("list-units", "a", "t", SYSTEMD, Operands::Literals),
            form("list-timers", "a", "", SYSTEMD, Operands::Literals),
        ])
        .beyond(&[
            case(options("--address --host --root --image", "H", "tnopM"), RUNS),
            CHANGES_SERVICES,
        ])
        .critical(&[HALTS_THE_MACHINE, STOPS_A_SERVICE, CHANGES_THE_START])
        .grant(AlwaysRule::words(2)),
    Program::named("loginctl")
        .beyond(&[case(options("--address --host --root --image", "H", "tnopM"), RUNS)])
        .critical(&[HALTS_THE_MACHINE, STOPS_A_SERVICE, CHANGES_THE_START]),
    Program::named("busctl")
        .beyond(&[case(options("--address --host --root --image", "H", "tnopM"), RUNS)]),
    Program::named("service")
        .beyond(&[CHANGES_SERVICES])
        .critical(&[HALTS_THE_MACHINE, STOPS_A_SERVICE]),
    Program::named("launchctl rc-service").beyond(&[CHANGES_SERVICES]).critical(&[
        HALTS_THE_MACHINE,
        STOPS_A_SERVICE,
        CHANGES_THE_START,
    ]),
    Program::named("initctl").beyond(&[CHANGES_SERVICES]),
    // `-l` is the only form that changes nothing.
    Program::named("crontab")
        .beyond(&[case(Not(&Surely("-l")), "it changes what runs later")])
        .critical(&[critical(Not(&Surely("-l")), LATER)])
        .grant(AlwaysRule::NEVER),
    Program::named("at batch")
        .critical(&[critical(Not(&Surely("-l -c -V")), LATER)])
        .runs(Runs::Queued)
        .grant(AlwaysRule::NEVER),
    Program::named("update-rc.d chkconfig insserv")
        .critical(&[critical(Always, "changes what starts with the machine")]),
    Program::named("sysctl")
        .beyond(&[case(
            Any(&[options("", "wp", ""), Holds(&["="])]),
            "it changes the kernel's settings",
        )])
        .critical(&[critical(
            Any(&[Flag("w"), Has("-p --write"), Holds(&["="])]),
            "changes the kernel",
        )]),
    Program::named("insmod rmmod modprobe").critical(&[critical(
        Not(&Any(&[Bare, Has("-n --dry-run -c --show-depends")])),
        "changes the kernel",
    )]),
    Program::named("grub-install efibootmgr nvram bcdedit")
        .critical(&[critical(Not(&Bare), "changes how the machine starts")]),
    Program::named("nsenter chroot")
        .critical(&[critical(Always, "leaves the confines of this system")])
        .runs(Runs::Anywhere { opens_shell: true })
        .grant(AlwaysRule::NEVER),
    Program::named("whoami groups tty arch logname").reads(&[reading("", "", &[], Operands::None)]),
    Program::named("id").reads(&[reading(
        "agGnruz",
        "",
        &["user", "group", "groups", "name", "real"],
        Operands::Literals,
    )]),
    Program::named("uname").reads(&[reading(
        "asnrvmpio",
        "",
        &["all", "kernel-name", "machine"],
        Operands::None,
    )]),
    Program::named("nproc uptime lscpu free").reads(&[reading(
        "apsVbkmghHTitl",
        "",
        FREE,
        Operands::Names,
    )]),
];

const STOPS: &str = "stops the machine or everything on it";
const SYSTEMD: &[Words] = &["\
    no-pager full lines= all type= state= output= plain no-legend user system quiet failed"];
const CHANGES_SERVICES: Case =
    case(Any(&[Not(&Has(SERVICE_LOOKS)), Holds(&[".."])]), "it changes services");
const HALTS_THE_MACHINE: Case = critical(Nth(0, HALTS), STOPS);
const STOPS_A_SERVICE: Case = critical(
    All(&[Any(&[Nth(0, "stop disable mask kill"), Operand("stop")]), Test(machine::vital_service)]),
    "stops a service that the machine needs",
);
const CHANGES_THE_START: Case = critical(Nth(0, STARTS_LATER), "changes what starts by itself");
const LATER: &str = "changes what runs later";
// Verbs that only show; every other verb counts as a change.
const SERVICE_LOOKS: Words = "\
    status list-units list-unit-files is-active is-enabled is-failed show cat --status-all \
    list-timers list print";
const HALTS: Words = "\
    poweroff reboot halt suspend hibernate kexec rescue emergency soft-reboot isolate exit \
    hybrid-sleep terminate-user kill-user";
const STARTS_LATER: Words = "\
    enable link enable-linger edit load bootstrap submit preset set-default";
