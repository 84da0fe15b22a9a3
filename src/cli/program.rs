//! The file that a command starts, and its folder: both have to be the same at the start as when
//! people were asked.

use anyhow::{Context as _, Result, bail};
use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// The folder and the file of a command.
#[derive(Debug)]
pub(super) struct ProgramFile {
    folder: PathBuf,
    /// `None` if there is none.
    file: Option<FileState>,
}

/// A file, as far as its metadata tells.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    /// The times of the last change of its content and of its metadata; nobody can set the latter.
    times: [(i64, i64); 2],
}

impl ProgramFile {
    /// Looks for the file, as starting the command does.
    ///
    /// # Errors
    /// If the current folder is gone.
    pub(super) fn of(words: &[String]) -> Result<Self> {
        let folder = env::current_dir().context("the current folder is not there")?;
        Ok(Self { folder, file: words.first().and_then(|program| found(program)) })
    }

    /// Checks that both are still the same.
    ///
    /// # Errors
    /// A sentence that names what was changed.
    // SECURITY: people approved what the words meant when they were asked. Between this check and
    // the start there is a gap of some milliseconds, and what the program reads is not looked at.
    pub(super) fn check(&self, words: &[String]) -> Result<()> {
        let folder = env::current_dir().ok();
        if folder.as_ref() != Some(&self.folder) {
            let folder = self.folder.display();
            bail!("{folder} was moved or deleted while people were asked; nothing is run");
        }
        let now = words.first().and_then(|program| found(program));
        if now != self.file {
            let file = self.file.as_ref().or(now.as_ref()).map(|file| file.path.display());
            let file = file.map(|path| path.to_string()).unwrap_or_default();
            bail!("{file} was changed while people were asked; nothing is run");
        }
        Ok(())
    }
}

/// The file that a program's name stands for.
fn found(program: &str) -> Option<FileState> {
    if program.contains('/') {
        return state(Path::new(program));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).find_map(|folder| state(&folder.join(program)))
}

fn state(path: &Path) -> Option<FileState> {
    let told = fs::metadata(path).ok()?;
    let runs = told.is_file() && told.mode() & 0o111 != 0;
    runs.then(|| FileState {
        path: path.to_owned(),
        device: told.dev(),
        inode: told.ino(),
        size: told.len(),
        times: [(told.mtime(), told.mtime_nsec()), (told.ctime(), told.ctime_nsec())],
    })
}
