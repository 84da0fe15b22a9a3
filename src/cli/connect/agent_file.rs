//! The file in which an agent looks for hooks: read, replaced, backed up and removed, and never
//! where something unexpected is in its place.

use crate::cli::files;
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_agents::HookFile;
use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The largest number of backups of one file.
const BACKUPS: u32 = 1_000;

/// A file that `connect` may change.
#[derive(Debug)]
pub(super) struct AgentFile {
    path: PathBuf,
    kind: HookFile,
}

impl AgentFile {
    /// # Errors
    /// A sentence, where the file is not ours to write.
    // SECURITY: a link or a file of somebody else would make us write where nobody expects it.
    pub(super) fn new(path: PathBuf, kind: HookFile) -> Result<Self> {
        let name = path.display();
        let is_link = fs::symlink_metadata(&path).is_ok_and(|it| it.file_type().is_symlink());
        if is_link && kind != HookFile::Shared {
            bail!("{name} is a link, and not the file that countersign makes; remove it first");
        }
        match fs::metadata(&path) {
            Ok(there) if !there.is_file() => bail!("{name} is not a file; remove it first"),
            Ok(there) if !is_mine(there.uid()) => {
                bail!("{name} belongs to another user; run this as that user, or chown it first")
            }
            Ok(there) if there.permissions().mode() & 0o200 == 0 => {
                bail!("{name} is read-only; `chmod u+w` it first, or edit what makes it");
            }
            Ok(_) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| name.to_string());
            }
            Err(_) if is_link => bail!("{name} is a link to a file that is not there; remove it"),
            // As root in somebody's home, new files would be root's.
            Err(_) if rustix::process::geteuid().is_root() && !is_mine(folder_owner(&path)) => {
                bail!("the folder of {name} belongs to another user; run this as that user");
            }
            Err(_) => {}
        }
        Ok(Self { path, kind })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its text; empty where there is none yet.
    pub(super) fn read(&self) -> Result<String> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read.with_context(|| self.path.display().to_string()),
        }
    }

    /// Copies what is there before it changes; the copy, unless the newest one is the same.
    pub(super) fn back_up(&self) -> Result<Option<PathBuf>> {
        let text = self.read()?;
        let newest = self.backups().pop();
        match newest.is_some_and(|newest| fs::read_to_string(newest).is_ok_and(|it| it == text)) {
            true => Ok(None),
            false => files::back_up(&self.path),
        }
    }

    /// The texts that may have been there before: no file at all, and the backups, latest first.
    pub(super) fn earlier(&self) -> impl Iterator<Item = String> {
        let backups = self.backups().into_iter().rev();
        let backups = backups.filter_map(|backup| fs::read_to_string(backup).ok());
        std::iter::once(String::new()).chain(backups)
    }

    /// Replaces the text. A file without a text is removed.
    pub(super) fn write(&self, text: &str) -> Result<()> {
        if text.is_empty() {
            let removed = fs::remove_file(&self.path);
            return removed.with_context(|| format!("cannot remove {}", self.path.display()));
        }
        files::replace(&self.path, text)?;
        if self.kind == HookFile::OwnProgram {
            let runnable = fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700));
            runnable.with_context(|| format!("cannot make {} runnable", self.path.display()))?;
        }
        Ok(())
    }

    /// Removes the backups that hold nothing but what is there now.
    pub(super) fn drop_backups(&self) -> Result<()> {
        let text = self.read()?;
        if text.is_empty() {
            return Ok(());
        }
        for backup in self.backups() {
            if fs::read_to_string(&backup).is_ok_and(|it| it == text) {
                let removed = fs::remove_file(&backup);
                removed.map_err(|error| anyhow!("cannot remove {}: {error}", backup.display()))?;
            }
        }
        Ok(())
    }

    fn backups(&self) -> Vec<PathBuf> {
        let name = |at: u32| PathBuf::from(format!("{}.{at}.bak", self.path.display()));
        (1..BACKUPS).map(name).take_while(|backup| backup.exists()).collect()
    }
}

/// The owner of the nearest folder that is there.
fn folder_owner(path: &Path) -> u32 {
    let folder = path.ancestors().skip(1).find_map(|folder| fs::metadata(folder).ok());
    folder.map_or_else(|| rustix::process::geteuid().as_raw(), |folder| folder.uid())
}

fn is_mine(owner: u32) -> bool {
    rustix::process::geteuid().as_raw() == owner
}
