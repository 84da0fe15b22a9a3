//! A small disk of its own, which tests may fill up and make read-only.
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

    /// Lets nobody write any more, or again. The system refuses while somebody has a file open to write.
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
