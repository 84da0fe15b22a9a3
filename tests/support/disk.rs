//! Small disks of their own: one that tests may fill up and make read-only, and one that a fault
//! makes so while files on it are open.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail by panicking")]

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A disk; it is gone when this is dropped.
pub struct Disk {
    at: PathBuf,
}

impl Disk {
    /// Puts a disk of two megabytes here; `None`, and said so, where that is not permitted.
    pub fn at(at: &Path) -> Option<Self> {
        let mount = ["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs"];
        let mounted = Command::new("mount").args(mount).arg(at).output();
        if !mounted.as_ref().is_ok_and(|mounted| mounted.status.success()) {
            eprintln!("not tried: no small disk may be mounted here: {mounted:?}");
            return None;
        }
        Some(Self { at: at.to_owned() })
    }

    /// Fills it to the last byte.
    pub fn fill(&self) {
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(self.filler()).unwrap();
        for piece in [4_096, 512, 1] {
            while file.write_all(&vec![b'x'; piece]).is_ok() {}
        }
    }

    /// Gives the room back.
    pub fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }

    /// Lets nobody write any more, or again. The system refuses while somebody has a file open to
    /// write.
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
        // Whoever still works on it keeps it until it ends.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}

/// An ext4 of its own, which turns read-only under whoever works on it when it meets a fault, as
/// most are set up to. Nothing but looking it through and mounting it again brings it back. It is
/// gone when this is dropped.
pub struct FaultyDisk {
    at: PathBuf,
    image: PathBuf,
}

impl FaultyDisk {
    /// Makes one in this file and puts it here; `None`, and said so, where that is not possible.
    pub fn at(at: &Path, image: PathBuf) -> Option<Self> {
        std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let disk = Self { at: at.to_owned(), image };
        let made = disk.run("mkfs.ext4", &["-q", "-e", "remount-ro"], &[&disk.image]);
        let made = made.and_then(|()| disk.mount());
        // A mounted one whose kernel cannot be told to meet a fault is of no use.
        match made.and_then(|()| disk.trigger()) {
            Ok(_) => Some(disk),
            Err(why) => {
                eprintln!("not tried: no faulty disk is to be had here: {why}");
                None
            }
        }
    }

    /// It meets a fault.
    pub fn fails(&self) {
        std::fs::write(self.trigger().unwrap(), "a test").unwrap();
        let refused = std::fs::write(self.at.join("probe"), "").unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    }

    /// It is looked through and mounted again; nobody may work on it.
    pub fn mend(&self) {
        self.run("umount", &[], &[&self.at]).unwrap();
        // It says by 1 that it mended something.
        let _ = self.run("e2fsck", &["-f", "-y"], &[&self.image]);
        self.mount().unwrap();
    }

    fn mount(&self) -> Result<(), String> {
        self.run("mount", &["-o", "loop,errors=remount-ro"], &[&self.image, &self.at])
    }

    /// Where the kernel is told to meet a fault.
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
