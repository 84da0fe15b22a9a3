//! Files that are replaced in one step, and copies of what was there before.

use anyhow::{Context as _, Result, bail};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Replaces a file atomically and keeps its mode. If it is a link, the file behind it is replaced.
pub(super) fn replace(file: &Path, text: &str) -> Result<()> {
    replace_if(file, text, |_| Ok(()))
}

/// The same, if what was written passes this check of a file beside it.
pub(super) fn replace_if(
    file: &Path,
    text: &str,
    check: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let folder = real.parent().unwrap_or(Path::new("."));
    let write = || {
        fs::create_dir_all(folder)?;
        // In the same folder, because a rename works only within one file system.
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&real) {
            // A temporary file starts with mode 0600.
            new.as_file().set_permissions(old.permissions())?;
        }
        new.as_file().sync_all()?;
        Ok::<_, io::Error>(new)
    };
    let cannot = || format!("cannot write {}", file.display());
    let new = write().with_context(cannot)?;
    check(new.path())?;
    new.persist(&real).map_err(|error| error.error).with_context(cannot)?;
    Ok(())
}

/// Copies a file that is there to the first free name beside it, for its owner alone.
pub(super) fn back_up(file: &Path) -> Result<Option<PathBuf>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let name = |at: u32| PathBuf::from(format!("{}.{at}.bak", file.display()));
    let Some(backup) = (1..1_000).map(name).find(|backup| !backup.exists()) else {
        bail!("{} has too many backups; remove some", file.display());
    };
    private_file(&backup, &text)?;
    Ok(Some(backup))
}

/// Writes a file that only its owner may read, whatever its mode was before.
pub(super) fn private_file(path: &Path, text: &str) -> Result<()> {
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        // An existing file keeps its mode, so it is closed before the token is written.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
