//! Files and folders of the store that no other user may read or replace, whatever their mode was
//! before.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// The suffixes of the files that SQLite and the daemon create for one database.
pub(super) const BESIDE: [&str; 5] = ["", "-wal", "-shm", "-journal", ".lock"];

/// Creates the daemon's own folder, or closes an existing one to others.
///
/// # Errors
/// A sentence: it is no folder, belongs to another user, or cannot be created or closed.
// SECURITY: a user who may write to the folder could replace the store.
pub fn own_folder(folder: &Path) -> Result<(), String> {
    let found = make(folder)?;
    is_ours(folder, &found, folder)?;
    tighten(folder, &found, 0o077)
}

/// Creates the folder of the store's file, if that is not the daemon's own. Others may read an
/// existing folder, but not write to it.
///
/// # Errors
/// As for [`own_folder`].
pub fn folder_of_store(folder: &Path) -> Result<(), String> {
    let found = make(folder)?;
    // In a sticky folder such as /tmp nobody can replace files of others.
    let sticky = found.mode() & 0o1000 != 0;
    if sticky || found.mode() & 0o022 == 0 {
        return Ok(());
    }
    is_ours(folder, &found, folder)?;
    tighten(folder, &found, 0o022)
}

/// Closes the database's file, and the files beside it, to others.
///
/// # Errors
/// A sentence: one of them is a link, not a regular file, or belongs to another user.
// SECURITY: SQLite creates the files beside the database with the database's mode.
pub fn files(file: &Path) -> Result<(), String> {
    for path in BESIDE.map(|end| beside(file, end)) {
        // Not followed: a link's owner could make it point to another file between two starts.
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        if found.is_symlink() {
            return Err(format!(
                "{} is a link, which others may redirect; name the file itself in [store] url",
                path.display()
            ));
        }
        if !found.is_file() {
            return Err(format!("{} is not a plain file; move it away", path.display()));
        }
        is_ours(&path, &found, file.parent().unwrap_or(Path::new(".")))?;
        tighten(&path, &found, 0o077)?;
    }
    Ok(())
}

/// Moves aside what is left of a store whose file is missing or empty; returns the new paths.
///
/// # Errors
/// When it cannot be moved.
pub fn set_aside(file: &Path) -> io::Result<Vec<PathBuf>> {
    // A log without its file is no store, and SQLite would apply it to the new file of the same
    // name.
    if file.metadata().is_ok_and(|found| found.len() > 0) {
        return Ok(Vec::new());
    }
    let mut moved = Vec::new();
    for path in ["-wal", "-shm", "-journal"].map(|end| beside(file, end)) {
        if path.exists() {
            let to = beside(&path, &format!(".left-{}", countersign_tokens::clock::now_ms()));
            fs::rename(&path, &to)?;
            moved.push(to);
        }
    }
    Ok(moved)
}

/// Opens a file for writing, and creates it readable by its owner only.
pub(super) fn open(file: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(file)
}

/// The path with a suffix appended.
pub(super) fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn make(folder: &Path) -> Result<Metadata, String> {
    let cannot = |error| format!("cannot make the folder {}: {error}", folder.display());
    if !folder.is_dir() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder).map_err(cannot)?;
    }
    fs::metadata(folder).map_err(cannot)
}

/// Checks that the file or folder belongs to us. A file that we create shows our user id: the
/// standard library has no `getuid`.
fn is_ours(path: &Path, found: &Metadata, folder: &Path) -> Result<(), String> {
    let made = tempfile::tempfile_in(folder).and_then(|file| file.metadata());
    let us = match made {
        Ok(made) => made.uid(),
        // The folder takes no file, for example on a full disk: opening the store will report why.
        Err(_) => return Ok(()),
    };
    if found.uid() == us {
        return Ok(());
    }
    Err(format!(
        "{path} belongs to another user (uid {}, and the daemon is uid {us}); `chown` it, or move \
         it away",
        found.uid(),
        path = path.display()
    ))
}

fn tighten(path: &Path, found: &Metadata, others: u32) -> Result<(), String> {
    let mode = found.mode() & 0o7777;
    if mode & others == 0 {
        return Ok(());
    }
    let closed = mode & !others;
    fs::set_permissions(path, Permissions::from_mode(closed))
        .map_err(|error| format!("cannot close {} to others: {error}", path.display()))?;
    tracing::warn!(
        path = %path.display(), was = format!("{mode:o}"), now = format!("{closed:o}"),
        "others on this machine could reach a file or folder of the store; it is closed to them now"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn files_and_folders_are_closed_whatever_was_there_before() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, Permissions::from_mode(0o777)).unwrap();
        let file = state.join("a.db");
        for path in BESIDE.map(|end| beside(&file, end)) {
            fs::write(&path, "x").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        }
        own_folder(&state).unwrap();
        files(&file).unwrap();
        assert_eq!(mode(&state), 0o700);
        for path in BESIDE.map(|end| beside(&file, end)) {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }

    #[test]
    fn a_link_or_a_folder_in_the_place_of_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (at, end) in BESIDE.iter().enumerate() {
            let file = folder.path().join(format!("{at}.db"));
            std::os::unix::fs::symlink("/etc/passwd", beside(&file, end)).unwrap();
            assert!(files(&file).unwrap_err().contains("is a link"), "{end}");
        }
        let file = folder.path().join("folder.db");
        fs::create_dir(&file).unwrap();
        assert!(files(&file).unwrap_err().contains("not a plain file"));
    }

    #[test]
    fn the_folder_of_a_file_elsewhere_stays_readable_and_nobody_else_writes_to_it() {
        let folder = tempfile::tempdir().unwrap();
        for (was, is) in [(0o755, 0o755), (0o775, 0o755), (0o777, 0o755), (0o1777, 0o1777)] {
            fs::set_permissions(folder.path(), Permissions::from_mode(was)).unwrap();
            folder_of_store(folder.path()).unwrap();
            assert_eq!(mode(folder.path()), is, "{was:o}");
        }
    }

    #[test]
    fn what_is_left_of_a_lost_file_is_moved_and_a_whole_store_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        fs::write(beside(&file, "-wal"), "log").unwrap();
        let moved = set_aside(&file).unwrap();
        assert_eq!(moved.len(), 1);
        assert_eq!(fs::read_to_string(moved.first().unwrap()).unwrap(), "log");
        fs::write(&file, "whole").unwrap();
        fs::write(beside(&file, "-wal"), "log").unwrap();
        assert!(set_aside(&file).unwrap().is_empty());
    }
}
