//! Processes, services and packages that the machine needs.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::words::listed;

/// Returns true when kill ends the first process, or all of them.
pub(crate) fn kills_all(args: &Arguments<'_, '_>) -> bool {
    // A leading `-1` is the signal; a later one means every process.
    let targets = args.texts().enumerate().filter(|(at, text)| *at > 0 || !text.starts_with('-'));
    let vital = targets.map(|(_, text)| text).any(|text| matches!(text, "-1" | "1"));
    // Signal 0 only tests, and `-l` only lists.
    vital && !args.has("-0 -l -L")
}

/// Returns true when all processes of a user end, or one that the system needs.
pub(crate) fn kills_many(args: &Arguments<'_, '_>) -> bool {
    args.has("-u -U")
        || args.long("--euid --user")
        || args.any(|text| text.starts_with("-u") && text.len() > 2)
        || args.named().iter().any(|word| {
            matches!(&*word.text, "." | ".*" | "" | "systemd" | "init" | "sshd" | "Xorg")
        })
}

const SERVICES: &str = "sshd ssh firewalld ufw iptables nftables NetworkManager networking \
    network dbus auditd apparmor fail2ban cron crond rsyslog display-manager falcon-sensor \
    clamav-daemon";

/// Returns true when an operand is a service that the machine needs.
pub(crate) fn vital_service(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().any(|word| {
        let unit = word.text.trim_end_matches(".service").trim_end_matches(".socket");
        listed(SERVICES, unit) || unit.starts_with("systemd-")
    })
}

const PACKAGES: &str = "python3 glibc libc6 bash coreutils systemd sudo openssh linux-image apt \
    dpkg util-linux login passwd rpm kernel grub filesystem base-files init";

/// Returns true when an operand is a package that the system needs, or a part of one.
pub(crate) fn vital_package(args: &Arguments<'_, '_>) -> bool {
    args.named().iter().any(|word| {
        // `linux-image-6.1` is a part of `linux-image`.
        PACKAGES.split(' ').any(|vital| {
            word.text
                .strip_prefix(vital)
                .is_some_and(|more| more.is_empty() || more.starts_with('-'))
        })
    })
}

/// Returns true when umount is given a folder of the system, or an empty name.
pub(crate) fn vital_mount(args: &Arguments<'_, '_>) -> bool {
    args.named()
        .iter()
        .any(|word| word.text.is_empty() || listed("/ /home /boot /usr /var", &word.text))
}

/// Returns true when dd's `of=` names a device.
pub(crate) fn writes_a_device(args: &Arguments<'_, '_>) -> bool {
    args.texts()
        .filter_map(|text| text.strip_prefix("of="))
        .any(crate::facts::programs::sensitive::device)
}
