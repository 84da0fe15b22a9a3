//! Copies an SQLite store while the daemon uses it.

use super::{Database, StoreError};
use sqlx::{AnyConnection, Connection, Executor, Row, any::AnyConnectOptions};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The reason why no backup was made.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store is on a server, which has its own tools.
    #[error(
        "the store is on a PostgreSQL server, which is backed up with its own tools: \
         pg_dump --format=custom --file=FILE, and pg_restore to put it back"
    )]
    Server,
    /// The target exists; nothing is overwritten.
    #[error("{} is there already; name a file that is not", .0.display())]
    There(PathBuf),
    /// There is no store to copy.
    #[error("there is no store at {} yet", .0.display())]
    NoStore(PathBuf),
    /// The copy could not be written.
    #[error("{}: {source}", at.display())]
    Io {
        /// The file.
        at: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The store, or the copy, could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The copy failed the integrity check and was removed.
    #[error("the copy is damaged, and so is probably the store: {0}")]
    Damaged(String),
}

/// Copies the current store into a new file that only its owner may read; returns the number of
/// asks in it. The daemon may run meanwhile.
///
/// # Errors
/// [`BackupError`]; the target does not exist then.
pub async fn back_up(database: &Database, to: &Path) -> Result<i64, BackupError> {
    let Some(from) = database.file() else { return Err(BackupError::Server) };
    if !from.exists() {
        return Err(BackupError::NoStore(from.to_owned()));
    }
    if to.exists() {
        return Err(BackupError::There(to.to_owned()));
    }
    // Written under another name first: a crash in the middle leaves no file that looks like a
    // backup.
    let part = to.with_extension("part");
    let kept = copy(database, &part).await;
    let kept = kept.and_then(|asks| finish(&part, to).map(|()| asks));
    if kept.is_err() {
        let _ = fs::remove_file(&part);
    }
    kept
}

pub(super) async fn copy(database: &Database, part: &Path) -> Result<i64, BackupError> {
    let io = |source| BackupError::Io { at: part.to_owned(), source };
    // SQLite would create the file with the umask's mode, readable by others until a later chmod.
    // It accepts an existing file that is empty.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(part).map_err(io)?;
    // `countersign backup` is a process of its own, without an open store that has installed them.
    sqlx::any::install_default_drivers();
    let mut store = open(database).await?;
    // A plain copy of the file would lack what is only in the write-ahead log, and could mix pages
    // of two commits. `VACUUM INTO` reads one snapshot.
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

/// Opens an existing file; `mode=rw` never creates one.
pub(super) async fn open(database: &Database) -> Result<AnyConnection, StoreError> {
    let mut options: AnyConnectOptions = database.url().parse()?;
    options.database_url.set_query(Some("mode=rw"));
    Ok(AnyConnection::connect_with(&options).await?)
}

/// Renames the complete file to its target.
pub(super) fn finish(part: &Path, to: &Path) -> Result<(), BackupError> {
    let io = |source| BackupError::Io { at: to.to_owned(), source };
    // The rename is durable only after its folder is synced too; the content must be on disk before
    // it.
    File::open(part).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(part, to).map_err(io)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|at| at.sync_all()).map_err(io)
}
