//! Disks, power, accounts, scheduled jobs, the kernel, the firewall.

use crate::facts::access::{has_flag, operands};
use crate::facts::paths;
use crate::shell::Word;

/// A disk or partition.
pub(super) fn raw_device(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    let kinds = [
        "sd", "hd", "vd", "xvd", "nvme", "disk", "rdisk", "mmcblk", "mapper/", "md", "dm-", "mem",
        "kmem", "port", "loop",
    ];
    kinds.iter().any(|kind| name.starts_with(kind))
}

#[rustfmt::skip]
pub(super) fn judge(name: &str, args: &[Word<'_>]) -> Option<&'static str> {
    // Worked out only where a name asks for it: most commands are none of these.
    let has = |wanted: &[&str]| args.iter().any(|w| wanted.contains(&&*w.text));
    let words = || operands(args, &[]);
    let first = || words().first().map(|w| &*w.text).unwrap_or_default();
    let device = || words().iter().any(|w| w.text.starts_with("/dev/") && !paths::sink(&w.text));
    let help = || has(&["--help", "--version", "-V"]) || (has(&["-h"]) && args.len() == 1);
    let reason = match name.as_bytes() {
        _ if name.starts_with("mkfs") || matches!(name, "mke2fs" | "mkswap" | "wipefs" | "blkdiscard" | "badblocks" | "shred") => {
            (device() && (name != "badblocks" || has_flag(args, 'w'))).then_some("overwrites a raw device")
        }
        b"fdisk" | b"parted" | b"sgdisk" | b"gdisk" | b"cfdisk" | b"sfdisk" => {
            (device() && !has(&["-l", "--list", "print", "-p", "--print", "-d", "--dump"])).then_some("changes the partitions of a disk")
        }
        b"dd" => args.iter().any(|w| w.text.strip_prefix("of=").is_some_and(|to| to.starts_with("/dev/") && !paths::sink(to))).then_some("overwrites a raw device"),
        b"cryptsetup" => matches!(first(), "luksFormat" | "erase" | "luksErase" | "reencrypt" | "luksKillSlot" | "luksRemoveKey").then_some("makes a disk unreadable"),
        b"lvremove" | b"vgremove" | b"pvremove" | b"lvreduce" => Some("removes a volume"),
        b"zpool" | b"zfs" => matches!(first(), "destroy" | "create" | "labelclear" | "rollback").then_some("destroys a file system"),
        b"mdadm" => has(&["--zero-superblock", "--stop", "--create", "--fail", "-S"]).then_some("changes a disk array"),
        b"nvme" => matches!(first(), "format" | "sanitize" | "write-zeroes" | "delete-ns").then_some("erases a disk"),
        b"hdparm" => args.iter().any(|w| w.text.starts_with("--security") || w.text.starts_with("--yes-i-know")).then_some("erases a disk"),
        b"diskutil" => (first().starts_with("erase") || first().starts_with("partition") || matches!(first(), "apfs" | "zeroDisk" | "secureErase" | "reformat")).then_some("erases a disk"),
        b"shutdown" | b"reboot" | b"poweroff" | b"halt" | b"killall5" | b"pm-suspend" | b"kexec" => {
            (!has(&["-c", "--help", "--version"])).then_some("stops the machine or everything on it")
        }
        b"init" | b"telinit" => matches!(first(), "0" | "1" | "6" | "s" | "S").then_some("stops the machine or everything on it"),
        b"kill" => kill(args),
        b"pkill" | b"killall" => {
            let everyone = has(&["-u", "--euid", "-U", "--user"]) || args.iter().any(|w| w.text.starts_with("-u") && w.text.len() > 2);
            let vital = words().iter().any(|w| matches!(&*w.text, "." | ".*" | "" | "systemd" | "init" | "sshd" | "Xorg"));
            (everyone || vital).then_some("stops processes of a whole user or of the system")
        }
        b"systemctl" | b"loginctl" | b"service" | b"launchctl" | b"rc-service" => services(name, args, &words()),
        b"useradd" | b"adduser" | b"usermod" | b"userdel" | b"deluser" | b"groupadd" | b"groupmod" | b"groupdel" | b"addgroup"
        | b"delgroup" | b"gpasswd" | b"chpasswd" | b"vipw" | b"vigr" | b"newusers" | b"chsh" | b"dseditgroup" | b"sysadminctl" => Some("changes accounts"),
        b"passwd" => (!has(&["-S", "--status", "-Sa"])).then_some("changes accounts"),
        b"visudo" => (!has(&["-c", "--check", "-cf"])).then_some("changes who may become root"),
        b"dscl" => args.iter().any(|w| w.text.starts_with("-create") || w.text.starts_with("-delete") || w.text.starts_with("-append") || w.text.starts_with("-passwd")).then_some("changes accounts"),
        b"crontab" => (!has(&["-l"])).then_some("changes what runs later"),
        b"at" | b"batch" => (!has(&["-l", "-c", "-V"])).then_some("changes what runs later"),
        b"update-rc.d" | b"chkconfig" | b"insserv" => Some("changes what starts with the machine"),
        b"history" => has(&["-c", "-w", "-d"]).then_some("covers its tracks"),
        b"unset" | b"export" | b"declare" => args.iter().any(|w| w.text.starts_with("HISTFILE") || w.text.starts_with("HISTSIZE=0")).then_some("covers its tracks"),
        b"sudo" | b"doas" => {
            let shell = has(&["-i", "-s", "--login", "--shell"]) || words().first().is_some_and(|w| w.text == "su") || args.is_empty();
            shell.then_some("opens a shell as root")
        }
        b"su" | b"pkexec" => (!has(&["-c", "--command"])).then_some("opens a shell as another user"),
        b"ufw" => matches!(first(), "disable" | "reset").then_some("switches a guard of the machine off"),
        b"setenforce" => matches!(first(), "0" | "Permissive" | "permissive").then_some("switches a guard of the machine off"),
        b"iptables" | b"ip6tables" => has(&["-F", "--flush", "-X", "-P", "--policy"]).then_some("switches a guard of the machine off"),
        b"nft" => matches!(first(), "flush" | "delete").then_some("switches a guard of the machine off"),
        b"csrutil" | b"spctl" => (first() == "disable" || has(&["--master-disable", "--global-disable"])).then_some("switches a guard of the machine off"),
        b"aa-disable" | b"aa-teardown" | b"auditctl" => (name != "auditctl" || has(&["-D", "-e"])).then_some("switches a guard of the machine off"),
        b"sysctl" => (has_flag(args, 'w') || has(&["-p", "--write"]) || args.iter().any(|w| w.text.contains('='))).then_some("changes the kernel"),
        b"insmod" | b"rmmod" | b"modprobe" => (!args.is_empty() && !has(&["-n", "--dry-run", "-c", "--show-depends"])).then_some("changes the kernel"),
        b"mount" => (args.iter().any(|w| w.text.contains("remount")) || has(&["--bind", "--rbind", "--move"])).then_some("changes mounts of the system"),
        b"umount" => words().iter().any(|w| matches!(&*w.text, "/" | "/home" | "/boot" | "/usr" | "/var") || w.text.is_empty()).then_some("changes mounts of the system"),
        b"swapoff" => has(&["-a", "--all"]).then_some("switches swap off"),
        b"grub-install" | b"efibootmgr" | b"nvram" | b"bcdedit" => (!args.is_empty()).then_some("changes how the machine starts"),
        b"nsenter" | b"chroot" => Some("leaves the confines of this system"),
        b"apt" | b"apt-get" | b"aptitude" | b"dnf" | b"yum" | b"zypper" | b"pacman" | b"apk" | b"rpm" | b"dpkg" | b"brew" => packages(args, &words()),
        b"pip" | b"pip3" => (first() == "uninstall" && words().iter().any(|w| matches!(&*w.text, "pip" | "setuptools" | "wheel"))).then_some("removes what the system needs"),
        b"npm" => (matches!(first(), "uninstall" | "remove" | "rm" | "un" | "r") && words().iter().any(|w| w.text == "npm")).then_some("removes what the system needs"),
        _ => None,
    };
    reason.filter(|_| name == "shutdown" || !help())
}

fn kill(args: &[Word<'_>]) -> Option<&'static str> {
    let probes = args.iter().any(|w| matches!(&*w.text, "-0" | "-l" | "-L"));
    let targets = args.iter().enumerate().filter(|(at, w)| *at > 0 || !w.text.starts_with('-'));
    let vital = targets.clone().any(|(_, w)| matches!(&*w.text, "-1" | "1"));
    (vital && !probes).then_some("stops the machine or everything on it")
}

#[rustfmt::skip]
fn services(name: &str, args: &[Word<'_>], words: &[&Word<'_>]) -> Option<&'static str> {
    let verb = words.first().map(|w| &*w.text).unwrap_or_default();
    if matches!(verb, "poweroff" | "reboot" | "halt" | "suspend" | "hibernate" | "kexec" | "rescue" | "emergency" | "soft-reboot" | "isolate" | "exit" | "hybrid-sleep" | "terminate-user" | "kill-user") {
        return Some("stops the machine or everything on it");
    }
    let vital = |word: &&Word<'_>| {
        let unit = word.text.trim_end_matches(".service").trim_end_matches(".socket");
        matches!(unit, "sshd" | "ssh" | "firewalld" | "ufw" | "iptables" | "nftables" | "NetworkManager" | "networking" | "network" | "dbus" | "auditd" | "apparmor" | "fail2ban" | "cron" | "crond" | "rsyslog" | "display-manager" | "falcon-sensor" | "clamav-daemon") || unit.starts_with("systemd-")
    };
    let stops = matches!(verb, "stop" | "disable" | "mask" | "kill") || words.iter().any(|w| w.text == "stop");
    if stops && words.iter().any(vital) {
        return Some("stops a service that the machine needs");
    }
    let starts = matches!(verb, "enable" | "link" | "enable-linger" | "edit" | "load" | "bootstrap" | "submit" | "preset" | "set-default");
    (starts && name != "service" && !args.iter().any(|w| w.text == "--help")).then_some("changes what starts by itself")
}

fn packages(args: &[Word<'_>], words: &[&Word<'_>]) -> Option<&'static str> {
    let verbs = [
        "remove",
        "purge",
        "erase",
        "autoremove",
        "uninstall",
        "del",
        "autopurge",
        "-R",
        "-Rs",
        "-Rns",
        "-e",
        "-P",
        "--purge",
    ];
    let removes = args.iter().any(|w| verbs.contains(&&*w.text));
    let core = words.iter().any(|w| {
        let package = &*w.text;
        [
            "python3",
            "glibc",
            "libc6",
            "bash",
            "coreutils",
            "systemd",
            "sudo",
            "openssh",
            "linux-image",
            "apt",
            "dpkg",
            "util-linux",
            "login",
            "passwd",
            "rpm",
            "kernel",
            "grub",
            "filesystem",
            "base-files",
            "init",
        ]
        .iter()
        .any(|vital| package == *vital || package.starts_with(&format!("{vital}-")))
    });
    (removes && core).then_some("removes what the system needs")
}
