//! Files that are replaced in one step, and copies of what was there before.

use anyhow::{Context as _, Result, bail};
use countersign_tokens::file::{self, Replacement, Rights};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Replaces a file in one step and keeps its mode. If it is a link, the file behind it is replaced.
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
    let cannot = || format!("cannot write {}", file.display());
    fs::create_dir_all(real.parent().unwrap_or(Path::new("."))).with_context(cannot)?;
    let new = Replacement::write(&real, text, Rights::AsBefore).with_context(cannot)?;
    check(new.path())?;
    new.put().with_context(cannot)
}

/// Reads a whole text; `-` is stdin.
pub(super) fn read(file: &Path) -> io::Result<String> {
    if file == Path::new("-") {
        io::read_to_string(io::stdin().lock())
    } else {
        fs::read_to_string(file)
    }
}

/// The places of the copies beside a file, the first ones first.
pub(super) fn backups(path: &Path) -> impl Iterator<Item = PathBuf> {
    (1..1_000).map(|at| PathBuf::from(format!("{}.{at}.bak", path.display())))
}

/// Copies a file that is there to the first free name beside it, for its owner alone.
pub(super) fn back_up(path: &Path) -> Result<Option<PathBuf>> {
    let text = file::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let Some(text) = text else { return Ok(None) };
    let Some(backup) = backups(path).find(|backup| !backup.exists()) else {
        bail!("{} has too many backups; remove some", path.display());
    };
    private_file(&backup, &text)?;
    Ok(Some(backup))
}

/// Writes a file that only its owner may read, whatever its mode was before. If it is a link, the
/// file behind it is replaced.
pub(super) fn private_file(path: &Path, text: &str) -> Result<()> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    file::replace(&real, text).with_context(|| format!("cannot write {}", path.display()))
}
