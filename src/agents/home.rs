//! Where agents keep this user's settings.

use std::{env, path::PathBuf};

/// The folder that an environment variable names, or this one in the user's home.
///
/// # Errors
/// When there is no home folder.
pub(super) fn folder(variable: &str, name: &str) -> Result<PathBuf, String> {
    match named(variable) {
        Some(folder) => Ok(folder),
        None => home(name),
    }
}

/// A folder in the user's home.
///
/// # Errors
/// When there is none.
pub(super) fn home(name: &str) -> Result<PathBuf, String> {
    let home = etcetera::home_dir().map_err(|error| format!("there is no home folder: {error}"))?;
    Ok(home.join(name))
}

/// The folder that an environment variable names.
pub(super) fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}
