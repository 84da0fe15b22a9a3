//! Files that are replaced in one step, and lastingly: nobody ever reads half of one, and no crash
//! brings the one before back.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// Who may read the new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Its owner alone, whatever the mode of the one before.
    Owner,
    /// Those who could read the one before; its owner alone where there was none.
    AsBefore,
}

/// A new file, written whole beside the one that it is to replace; it is removed unless it does.
#[derive(Debug)]
pub struct Replacement {
    new: NamedTempFile,
    file: PathBuf,
}

impl Replacement {
    /// Writes the new file, in the same folder because a rename works only within one file system.
    ///
    /// # Errors
    /// When it cannot be written.
    // SECURITY: the temporary file is created anew with mode 0600, and is no link of anybody's.
    pub fn write(file: &Path, text: impl AsRef<[u8]>, rights: Rights) -> io::Result<Self> {
        let mut new = NamedTempFile::new_in(folder(file))?;
        new.write_all(text.as_ref())?;
        if rights == Rights::AsBefore
            && let Ok(before) = fs::metadata(file)
        {
            new.as_file().set_permissions(before.permissions())?;
        }
        new.as_file().sync_all()?;
        Ok(Self { new, file: file.to_owned() })
    }

    /// Where the new file is until it takes its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.new.path()
    }

    /// Puts it in the place of the other one. A link there is replaced, not followed.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn put(self) -> io::Result<()> {
        self.new.persist(&self.file).map_err(|error| error.error)?;
        // The rename is durable only after its folder is synced.
        File::open(folder(&self.file))?.sync_all()
    }
}

/// The text of a file; `None` where there is none.
///
/// # Errors
/// When it is there and cannot be read.
pub fn read(file: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a file by one that only its owner may read.
///
/// # Errors
/// When it cannot be written; then the one before stays.
pub fn replace(file: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    Replacement::write(file, text, Rights::Owner)?.put()
}

/// Removes a file, if there is one.
///
/// # Errors
/// When it is there and stays.
pub fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The file's folder.
fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_for_its_owner_alone_or_for_those_who_could_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        for (rights, expected) in [(Rights::AsBefore, 0o644), (Rights::Owner, 0o600)] {
            fs::write(&file, "old").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
            let new = Replacement::write(&file, "new", rights).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "old", "until it takes its place");
            assert_eq!(fs::read_to_string(new.path()).unwrap(), "new");
            new.put().unwrap();
            assert_eq!(
                (fs::read_to_string(&file).unwrap().as_str(), mode(&file)),
                ("new", expected)
            );
        }
        assert_eq!(read(&file).unwrap().as_deref(), Some("new"));
        remove(&file).unwrap();
        remove(&file).unwrap();
        assert_eq!(read(&file).unwrap(), None);
        assert!(read(folder.path()).is_err(), "a folder is no text, and no missing file");
        Replacement::write(&file, "first", Rights::AsBefore).unwrap().put().unwrap();
        assert_eq!(mode(&file), 0o600, "a file that was not there is private");
    }

    #[test]
    fn a_link_is_replaced_and_what_it_led_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let other = folder.path().join("other");
        fs::write(&other, "another's").unwrap();
        symlink(&other, &file).unwrap();
        replace(&file, "ours").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "another's");
        assert!(!fs::symlink_metadata(&file).unwrap().is_symlink());
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("ours", 0o600));
    }

    #[test]
    fn nothing_is_left_of_a_replacement_that_was_not_put() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        drop(Replacement::write(&file, "new", Rights::Owner).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
