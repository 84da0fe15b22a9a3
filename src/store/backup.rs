//! A copy of an SQLite store, taken while the daemon works on it.

use super::{Database, StoreError};
use sqlx::{AnyConnection, Connection, Executor, Row, any::AnyConnectOptions};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A server has its own tools.
    #[error(
        "the store is on a PostgreSQL server, which is backed up with its own tools: \
         pg_dump --format=custom --file=FILE, and pg_restore to put it back"
    )]
    Server,
    /// Nothing is overwritten.
    #[error("{} is there already; name a file that is not", .0.display())]
    There(PathBuf),
    /// There is nothing to copy.
    #[error("there is no store at {} yet", .0.display())]
    NoStore(PathBuf),
    /// The copy could not be written.
    #[error("{}: {source}", at.display())]
    Io {
        /// Where.
        at: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store, or the copy, could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The copy is not sound; it was thrown away.
    #[error("the copy is damaged, and so is probably the store: {0}")]
    Damaged(String),
}

/// Copies the store as it stands into a new file, which only its owner may read; how many asks are
/// in it. The daemon may run meanwhile.
///
/// # Errors
/// [`BackupError`]; then there is no such file.
pub async fn back_up(database: &Database, to: &Path) -> Result<i64, BackupError> {
    let Some(from) = database.file() else { return Err(BackupError::Server) };
    if !from.exists() {
        return Err(BackupError::NoStore(from.to_owned()));
    }
    if to.exists() {
        return Err(BackupError::There(to.to_owned()));
    }
    let part = to.with_extension("part");
    let kept = copy(database, &part).await;
    let kept = kept.and_then(|asks| finish(&part, to).map(|()| asks));
    if kept.is_err() {
        let _ = fs::remove_file(&part);
    }
    kept
}

async fn copy(database: &Database, part: &Path) -> Result<i64, BackupError> {
    let io = |source| BackupError::Io { at: part.to_owned(), source };
    // Made here, so that nobody else may read it for a moment even.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(part).map_err(io)?;
    sqlx::any::install_default_drivers();
    let mut store = open(database).await?;
    let said = sqlx::query("VACUUM INTO $1").bind(part.to_string_lossy().into_owned());
    said.execute(&mut store).await.map_err(StoreError::from)?;
    store.close().await.map_err(StoreError::from)?;

    let mut copy = open(&Database::Sqlite(part.to_owned())).await?;
    let sound = copy.fetch_one("PRAGMA integrity_check").await.map_err(StoreError::from)?;
    let sound: String = sound.try_get(0).map_err(StoreError::from)?;
    if sound != "ok" {
        return Err(BackupError::Damaged(sound));
    }
    let asks = copy.fetch_one("SELECT count(*) FROM ask").await.map_err(StoreError::from)?;
    copy.close().await.map_err(StoreError::from)?;
    Ok(asks.try_get(0).map_err(StoreError::from)?)
}

/// Opens a file that is there; it is never made.
async fn open(database: &Database) -> Result<AnyConnection, StoreError> {
    let mut options: AnyConnectOptions = database.url().parse()?;
    options.database_url.set_query(Some("mode=rw"));
    Ok(AnyConnection::connect_with(&options).await?)
}

/// Puts the whole file in place, and only the whole.
fn finish(part: &Path, to: &Path) -> Result<(), BackupError> {
    let io = |source| BackupError::Io { at: to.to_owned(), source };
    File::open(part).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(part, to).map_err(io)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|at| at.sync_all()).map_err(io)
}
