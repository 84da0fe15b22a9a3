//! Power, processes, services, jobs and the kernel.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::When::{
    All, Always, Any, Bare, Device, Flag, Has, Holds, Not, Nth, NthEnds, NthStarts, Operand,
    Starts, Surely, Test,
};
use crate::facts::programs::condition::{Case, case, critical, destroys, options};
use crate::facts::programs::description::{
    AlwaysRule, Depth, Operands, Program, Role, Runs, form, reading,
};
use crate::facts::programs::known::{FREE, RAW, RUNS};
use crate::facts::programs::{Words, listed};

pub(super) static ALL: &[Program] = &[
    Program::named("shutdown").critical(&[case(Not(&Surely("-c --help --version")), STOPS)]),
    Program::named("reboot poweroff halt killall5 pm-suspend kexec")
        .critical(&[critical(Not(&Surely("-c --help --version")), STOPS)]),
    Program::named("init telinit").critical(&[critical(Nth(0, "0 1 6 s S"), STOPS)]),
    Program::named("kill")
        .roles(&[Role::Reaching])
        .beyond(&[case(Test(ends_with_everyone), "it stops every process")])
        .critical(&[critical(Test(kills_all), STOPS)])
        .depth(Depth::Names),
    Program::named("pkill killall")
        .roles(&[Role::Reaching])
        .beyond(&[case(Test(ends_with_everyone), "it stops every process")])
        .critical(&[critical(
            Test(kills_many),
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
        .critical(&[HALTS_THE_MACHINE, STOPS_A_SERVICE, CHANGES_THE_START])
        .grant(AlwaysRule::our_words(2)),
    Program::named("busctl")
        .beyond(&[case(options("--address --host --root --image", "H", "tnopM"), RUNS)])
        .grant(AlwaysRule::our_words(2).narrow("call emit set-property")),
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
        &["user group groups name real"],
        Operands::Literals,
    )]),
    Program::named("uname").reads(&[reading(
        "asnrvmpio",
        "",
        &["all kernel-name machine"],
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
    All(&[Any(&[Nth(0, "stop disable mask kill"), Operand("stop")]), Test(vital_service)]),
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

/// Returns true when the last of several words is `-1`.
fn ends_with_everyone(args: &Arguments<'_, '_>) -> bool {
    args.words.len() > 1 && args.words.last().is_some_and(|word| word.text == "-1")
}

// Disks, volumes and mounts.

pub(super) static DISKS: &[Program] = &[
    Program::named("mkfs* mke2fs mkswap wipefs blkdiscard").critical(&[critical(Device, RAW)]),
    Program::named("badblocks").critical(&[critical(All(&[Device, Flag("w")]), RAW)]),
    Program::named("fdisk parted sgdisk gdisk cfdisk sfdisk").critical(&[critical(
        All(&[Device, Not(&Test(only_lists))]),
        "changes the partitions of a disk",
    )]),
    Program::named("nwipe wipe scrub").critical(&[critical(Device, ERASES)]),
    Program::named("cryptsetup").critical(&[critical(
        Nth(0, "luksFormat erase luksErase reencrypt luksKillSlot luksRemoveKey luksHeaderRestore"),
        "makes a disk unreadable",
    )]),
    Program::named("lvm")
        .critical(&[critical(Nth(0, "lvremove vgremove pvremove lvreduce"), "removes a volume")]),
    Program::named("dmsetup")
        .critical(&[critical(NthStarts(0, "remove wipe"), "removes a volume")]),
    Program::named("btrfs").critical(&[critical(
        All(&[Nth(0, "subvolume device"), NthStarts(1, "delete remove")]),
        "destroys a file system",
    )]),
    Program::named("ceph rbd rados")
        .critical(&[destroys(Operand("rm delete destroy purge remove rmpool"))]),
    Program::named("lvremove vgremove pvremove lvreduce")
        .critical(&[critical(Always, "removes a volume")]),
    Program::named("zpool zfs").critical(&[critical(
        Nth(0, "destroy create labelclear rollback"),
        "destroys a file system",
    )]),
    Program::named("mdadm").critical(&[critical(
        options("--zero-superblock --stop --create --fail", "S", ""),
        "changes a disk array",
    )]),
    Program::named("nvme")
        .critical(&[critical(Nth(0, "format sanitize write-zeroes delete-ns"), ERASES)]),
    Program::named("hdparm").critical(&[critical(Starts("--security --yes-i-know"), ERASES)]),
    Program::named("diskutil").critical(&[critical(
        Any(&[NthStarts(0, "erase partition"), Nth(0, "apfs zeroDisk secureErase reformat")]),
        ERASES,
    )]),
    Program::named("asr").critical(&[critical(Nth(0, "restore"), ERASES)]),
    Program::named("fastboot")
        .critical(&[critical(Operand("erase flash flashall format flashing"), ERASES)]),
    Program::named("format format.com").critical(&[critical(NthEnds(0, ":"), ERASES)]),
    Program::named("diskpart diskpart.exe").critical(&[critical(Not(&Bare), ERASES)]),
    Program::named("vssadmin wmic vssadmin.exe wmic.exe tmutil").critical(&[critical(
        Operand("delete Delete DELETE"),
        "deletes the copies from which files come back",
    )]),
    // `remount` and `--bind` change what existing paths mean.
    Program::named("mount").beyond(&[case(Not(&Bare), "it changes mounts")]).critical(&[critical(
        Any(&[Holds(&["remount"]), options("--bind --rbind --move", "BRM", "LtonN")]),
        MOUNTS,
    )]),
    Program::named("umount")
        .beyond(&[case(Not(&Bare), "it changes mounts")])
        .critical(&[critical(Any(&[options("--all", "a", "tO"), Test(vital_mount)]), MOUNTS)]),
    Program::named("swapoff").critical(&[critical(options("--all", "a", ""), "switches swap off")]),
    Program::named("lsblk").reads(&[reading("abfilmopStuxan46", "", &[], Operands::None)]),
];

const ERASES: &str = "erases a disk";

/// Returns true when every word of a command on partitions is known only to show them.
fn only_lists(args: &Arguments<'_, '_>) -> bool {
    // `-d` is a dump to sfdisk and deletes to sgdisk.
    const SHOWS: Words = "-l --list -p --print print --dump";
    const PLAIN: Words = "-s --script unit s B MB MiB GB GiB free all";
    let known =
        |text: &str| text.starts_with("/dev/") || listed(SHOWS, text) || listed(PLAIN, text);
    args.texts().all(known) && args.has(SHOWS)
}
const MOUNTS: &str = "changes mounts of the system";

// Interfaces, routes and packet filters of the machine.

pub(super) static NETWORK: &[Program] = &[
    Program::named("ip")
        .reads(&[
            form("addr", "", "", &[], Operands::None),
            form("addr show", "", "", &[], Operands::Literals),
            form("a", "", "", &[], Operands::None),
            form("link", "", "", &[], Operands::None),
            form("link show", "", "", &[], Operands::Literals),
            form("route", "", "", &[], Operands::None),
            form("route show", "", "", &[], Operands::Literals),
        ])
        .beyond(&[CHANGES_THE_NETWORK])
        .grant(AlwaysRule::words(2).three("addr link netns route")),
    Program::named("route ifconfig nmcli firewall-cmd").beyond(&[CHANGES_THE_NETWORK]),
    Program::named("ss").reads(&[reading("abfilmopStuxan46", "", &[], Operands::None)]),
    Program::named("iptables ip6tables").beyond(&[CHANGES_THE_NETWORK]).critical(&[critical(
        Any(&[Has("-F -X -P"), options("--flush --policy --delete-chain", "", "")]),
        GUARD,
    )]),
    Program::named("nft")
        .beyond(&[CHANGES_THE_NETWORK])
        .critical(&[critical(Nth(0, "flush delete"), GUARD)]),
    Program::named("ufw")
        .beyond(&[CHANGES_THE_NETWORK])
        .critical(&[critical(Nth(0, "disable reset"), GUARD)])
        .grant(AlwaysRule::words(2)),
    Program::named("setenforce").critical(&[critical(Nth(0, "0 Permissive permissive"), GUARD)]),
    Program::named("csrutil spctl").critical(&[critical(
        Any(&[Nth(0, "disable"), Has("--master-disable --global-disable")]),
        GUARD,
    )]),
    Program::named("aa-disable aa-teardown").critical(&[critical(Always, GUARD)]),
    Program::named("auditctl").critical(&[critical(Has("-D -e"), GUARD)]),
];

// `ip addr` shows and `ip addr add` changes, so a changing word counts beside a showing one.
const CHANGES_THE_NETWORK: Case = case(
    Any(&[Not(&Any(&[Has(NETWORK_LOOKS), Bare])), Has("add del set flush exec -b -batch")]),
    "it changes the network",
);
const GUARD: &str = "switches a guard of the machine off";
const NETWORK_LOOKS: Words = "status show list -L -S a addr r link -n ls";

// Processes, services and packages that the machine needs.

/// Returns true when kill ends the first process, or all of them.
fn kills_all(args: &Arguments<'_, '_>) -> bool {
    // A leading `-1` is the signal; a later one means every process.
    let targets = args.texts().enumerate().filter(|(at, text)| *at > 0 || !text.starts_with('-'));
    let vital = targets.map(|(_, text)| text).any(|text| matches!(text, "-1" | "1"));
    // Signal 0 only tests, and `-l` only lists.
    vital && !args.has("-0 -l -L")
}

/// Returns true when all processes of a user end, or one that the system needs.
fn kills_many(args: &Arguments<'_, '_>) -> bool {
    args.has("-u -U")
        || args.long("--euid --user")
        || args.any(|text| text.starts_with("-u") && text.len() > 2)
        || args.each_named().any(|word| {
            matches!(&*word.text, "." | ".*" | "" | "systemd" | "init" | "sshd" | "Xorg")
        })
}

const SERVICES: &str = "sshd ssh firewalld ufw iptables nftables NetworkManager networking \
    network dbus auditd apparmor fail2ban cron crond rsyslog display-manager falcon-sensor \
    clamav-daemon";

/// Returns true when an operand is a service that the machine needs.
fn vital_service(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| {
        let unit = word.text.trim_end_matches(".service").trim_end_matches(".socket");
        listed(SERVICES, unit) || unit.starts_with("systemd-")
    })
}

const PACKAGES: &str = "python3 glibc libc6 bash coreutils systemd sudo openssh linux-image apt \
    dpkg util-linux login passwd rpm kernel grub filesystem base-files init";

/// Returns true when an operand is a package that the system needs, or a part of one.
pub(super) fn vital_package(args: &Arguments<'_, '_>) -> bool {
    args.each_named().any(|word| {
        // `linux-image-6.1` is a part of `linux-image`.
        PACKAGES.split(' ').any(|vital| {
            word.text
                .strip_prefix(vital)
                .is_some_and(|more| more.is_empty() || more.starts_with('-'))
        })
    })
}

/// Returns true when umount is given a folder of the system, or an empty name.
fn vital_mount(args: &Arguments<'_, '_>) -> bool {
    args.named()
        .iter()
        .any(|word| word.text.is_empty() || listed("/ /home /boot /usr /var", &word.text))
}

/// Returns true when dd's `of=` names a device.
pub(super) fn writes_a_device(args: &Arguments<'_, '_>) -> bool {
    args.texts()
        .filter_map(|text| text.strip_prefix("of="))
        .any(crate::facts::programs::sensitive::device)
}
