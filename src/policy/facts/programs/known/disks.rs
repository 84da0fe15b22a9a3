//! Disks, volumes and mounts.

use super::common::RAW;
use crate::facts::programs::case::{case, critical};
use crate::facts::programs::checks::machine;
use crate::facts::programs::description::Program;
use crate::facts::programs::reading::{Operands, reading};
use crate::facts::programs::when::{
    When::{All, Always, Any, Bare, Device, Flag, Has, Holds, Not, Nth, NthStarts, Starts, Test},
    options,
};

pub(crate) static ALL: &[Program] = &[
    Program::named("mkfs* mke2fs mkswap wipefs blkdiscard").critical(&[critical(Device, RAW)]),
    Program::named("badblocks").critical(&[critical(All(&[Device, Flag("w")]), RAW)]),
    Program::named("fdisk parted sgdisk gdisk cfdisk sfdisk").critical(&[critical(
        All(&[Device, Not(&Has("-l --list print -p --print -d --dump"))]),
        "changes the partitions of a disk",
    )]),
    Program::named("cryptsetup").critical(&[critical(
        Nth(0, "luksFormat erase luksErase reencrypt luksKillSlot luksRemoveKey"),
        "makes a disk unreadable",
    )]),
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
    // `remount` and `--bind` change what existing paths mean.
    Program::named("mount").beyond(&[case(Not(&Bare), "it changes mounts")]).critical(&[critical(
        Any(&[Holds(&["remount"]), options("--bind --rbind --move", "BRM", "LtonN")]),
        MOUNTS,
    )]),
    Program::named("umount")
        .beyond(&[case(Not(&Bare), "it changes mounts")])
        .critical(&[critical(Test(machine::vital_mount), MOUNTS)]),
    Program::named("swapoff").critical(&[critical(options("--all", "a", ""), "switches swap off")]),
    Program::named("lsblk").reads(&[reading("abfilmopStuxan46", "", &[], Operands::None)]),
];

const ERASES: &str = "erases a disk";
const MOUNTS: &str = "changes mounts of the system";
