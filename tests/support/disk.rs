//! Small disks for tests: one that can be filled up and made read-only, and one that turns
//! read-only after a fault while files on it are open.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail by panicking")]

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A disk, unmounted when this is dropped.
pub struct Disk {
    at: PathBuf,
}

impl Disk {
    /// Mounts a disk of two megabytes; prints a note and returns `None` if that is not permitted.
    pub fn at(at: &Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs"];
        let mounted = Command::new("mount").args(mount).arg(at).output();
        if !mounted.as_ref().is_ok_and(|mounted| mounted.status.success()) {
            eprintln!("not tried: no small disk may be mounted here: {mounted:?}");
            return None;
        }
        Some(Self { at: at.to_owned() })
    }

    /// Fills the disk to the last byte.
    pub fn fill(&self) {
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(self.filler()).unwrap();
        // Ever smaller pieces, until not a byte is left.
        for piece in [4_096, 512, 1] {
            while file.write_all(&vec![b'x'; piece]).is_ok() {}
        }
    }

    /// Frees the space again.
    pub fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    /// Makes the disk read-only, or writable again. The system refuses while a file is open for
    /// writing.
    pub fn read_only(&self, read_only: bool) {
        let how = if read_only { "remount,ro" } else { "remount,rw" };
        let told = Command::new("mount").args(["-o", how]).arg(&self.at).status().unwrap();
        assert!(told.success(), "{how}");
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // `--lazy`: a daemon that still runs keeps the disk until it exits.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

/// An ext4 file system that turns read-only at a fault, as most are mounted to do. Only a check and
/// a new mount make it writable again. Unmounted when this is dropped.
pub struct FaultyDisk {
    at: PathBuf,
    image: PathBuf,
}

impl FaultyDisk {
    /// Makes one in the file `image` and mounts it; prints a note and returns `None` if that is
    /// impossible.
    pub fn at(at: &Path, image: PathBuf) -> Option<Self> {
        std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let disk = Self { at: at.to_owned(), image };
        let made = disk.run("mkfs.ext4", &["-q", "-e", "remount-ro"], &[&disk.image]);
        let made = made.and_then(|()| disk.mount());
        // Without the kernel's fault injection the disk is of no use.
        match made.and_then(|()| disk.trigger()) {
            Ok(_) => Some(disk),
            Err(why) => {
                eprintln!("not tried: no faulty disk is to be had here: {why}");
                None
            }
        }
    }

    /// Triggers a fault.
    pub fn fails(&self) {
        std::fs::write(self.trigger().unwrap(), "a test").unwrap();
        let refused = std::fs::write(self.at.join("probe"), "").unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    }

    /// Checks the file system and mounts it again; no file on it may be open.
    pub fn mend(&self) {
        self.run("umount", &[], &[&self.at]).unwrap();
        // Exit code 1 means that it repaired something.
        let _ = self.run("e2fsck", &["-f", "-y"], &[&self.image]);
        self.mount().unwrap();
    }

    fn mount(&self) -> Result<(), String> {
        self.run("mount", &["-o", "loop,errors=remount-ro"], &[&self.image, &self.at])
    }

    /// The kernel's file that triggers a fault.
    fn trigger(&self) -> Result<PathBuf, String> {
        let mounts = std::fs::read_to_string("/proc/mounts").map_err(|error| error.to_string())?;
        let at = self.at.to_str().unwrap_or_default();
        let mount = mounts.lines().find(|line| line.split(' ').nth(1) == Some(at));
        let device = mount.and_then(|line| line.split(' ').next()?.strip_prefix("/dev/"));
        let trigger =
            Path::new("/sys/fs/ext4").join(device.unwrap_or("none")).join("trigger_fs_error");
        let opened = std::fs::OpenOptions::new().write(true).open(&trigger);
        opened.map(|_| trigger).map_err(|error| error.to_string())
    }

    fn run(&self, program: &str, options: &[&str], paths: &[&PathBuf]) -> Result<(), String> {
        let ran = Command::new(program).args(options).args(paths).output();
        let ran = ran.map_err(|error| format!("{program}: {error}"))?;
        let said = || format!("{program}: {}", String::from_utf8_lossy(&ran.stderr));
        ran.status.success().then_some(()).ok_or_else(said)
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).output();
    }
}
