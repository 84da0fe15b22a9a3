//! Puts a backup in the place of an SQLite store, while no daemon runs.

use super::{
    BackupError, Database, Remembered, Since, Store, StoreError, backup,
    engine::own,
    log_key::{KeyFile, read_key},
    log_state::{LogState, StateFile},
    private::{self, beside},
    replaced,
};
use countersign_domain::log::SigningKey;
use serde_json::json;
use sqlx::{Connection, Row};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The reason why nothing was restored. The store is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store is on a server, which has its own tools.
    #[error(
        "the store is on a PostgreSQL server, which is restored with its own tools: stop all \
         daemons, then pg_restore --clean --if-exists --dbname=URL FILE"
    )]
    Server,
    /// There is no such backup.
    #[error("there is no backup {}", .0.display())]
    NoBackup(PathBuf),
    /// The backup is the store itself.
    #[error("{} is the store itself; name a backup of it", .0.display())]
    Same(PathBuf),
    /// A daemon uses the store.
    #[error("{0}; a store is restored while no daemon runs")]
    Running(StoreError),
    /// The file holds no intact store.
    #[error("{} is no intact backup of a store: {why}", at.display())]
    Unreadable {
        /// The file.
        at: PathBuf,
        /// The reason.
        why: String,
    },
    /// The backup is of another store, or of a newer version.
    #[error("{}: {source}", at.display())]
    Refused {
        /// The file.
        at: PathBuf,
        /// The reason.
        source: StoreError,
    },
    /// A file could not be written or moved.
    #[error("{}: {source}", at.display())]
    Io {
        /// The file.
        at: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder or a file of the store is not for its owner alone.
    #[error("{0}")]
    Open(String),
}

/// A restored store.
#[derive(Debug)]
pub struct RestoredStore {
    /// The number of asks that wait for a person.
    pub open: i64,
    /// Of these, the number whose deadline has passed: they expire when the daemon starts.
    pub overdue: i64,
    /// The store that was there before, where there was one.
    pub replaced: Option<PathBuf>,
    /// What was brought over from it, or why it could not be read.
    pub since: Option<Result<Since, StoreError>>,
}

/// Replaces the store by a copy of `from`; what was there is kept beside it under another name.
///
/// # Errors
/// [`RestoreError`]; nothing is changed then.
pub async fn restore(
    database: &Database,
    from: &Path,
    known: &Remembered,
    now: i64,
) -> Result<RestoredStore, RestoreError> {
    let Some(file) = database.file() else { return Err(RestoreError::Server) };
    if !from.is_file() {
        return Err(RestoreError::NoBackup(from.to_owned()));
    }
    if from.canonicalize().ok() == file.canonicalize().ok() {
        return Err(RestoreError::Same(file.to_owned()));
    }
    private::folder_of_store(file.parent().unwrap_or(Path::new(".")))
        .map_err(RestoreError::Open)?;
    private::files(file).map_err(RestoreError::Open)?;
    // Held until the end: no daemon starts meanwhile.
    let _owned = own(file).map_err(RestoreError::Running)?;
    let part = beside(file, ".restoring");
    let done = prepared(file, from, &part, known, now).await;
    let done = match done {
        Ok((restored, log)) => swap(file, &part, now).map(|replaced| {
            known_from_now_on(log);
            RestoredStore { replaced, ..restored }
        }),
        Err(error) => Err(error),
    };
    for end in ["", "-wal", "-shm", "-journal", ".lock"] {
        let _ = fs::remove_file(beside(&part, end));
    }
    done
}

/// Makes the whole store beside the current one, with this version's tables.
async fn prepared(
    file: &Path,
    from: &Path,
    part: &Path,
    known: &Remembered,
    now: i64,
) -> Result<(RestoredStore, Option<RestoredLog>), RestoreError> {
    let unreadable = |why: String| RestoreError::Unreadable { at: from.to_owned(), why };
    let refused = |source| RestoreError::Refused { at: from.to_owned(), source };
    match backup::copy(&Database::Sqlite(from.to_owned()), part).await {
        Ok(_) => {}
        Err(BackupError::Damaged(why)) => return Err(unreadable(why)),
        Err(BackupError::Io { at, source }) => return Err(RestoreError::Io { at, source }),
        Err(error) => return Err(unreadable(error.to_string())),
    }
    let copy = Database::Sqlite(part.to_owned());
    let store = Store::open_as(&copy, known).await.map_err(refused)?;
    let log = restored_log(&store, known.folder()).await.map_err(refused)?;
    let since = match file.exists() {
        true => Some(bring_over(&copy, file, now).await),
        false => None,
    };
    let counted = finished(&store, since.as_ref(), now).await;
    store.close().await;
    let (open, overdue) = counted.map_err(refused)?;
    // Everything is in the one file that takes the store's name.
    match fs::metadata(beside(part, "-wal")) {
        Ok(log) if log.len() > 0 => Err(unreadable("its copy could not be completed".to_owned())),
        _ => Ok((RestoredStore { open, overdue, replaced: None, since }, log)),
    }
}

/// What the daemon is to know of the log from then on.
struct RestoredLog {
    known: LogState,
    key: Arc<SigningKey>,
    folder: PathBuf,
}

/// The log of the backup, if it ends as a daemon with this state folder sealed it. What is written
/// to it from now on has the proof of that daemon's key.
// SECURITY: a backup that somebody changed is not sealed anew: then the daemon finds at its start
// that the log does not go on where it ended.
async fn restored_log(store: &Store, folder: &Path) -> Result<Option<RestoredLog>, StoreError> {
    let KeyFile::Holds(key) = read_key(folder) else { return Ok(None) };
    let key = Arc::new(*key);
    store.engine.rows.prove_with(key.clone());
    let before = match LogState::read(folder) {
        StateFile::Holds(known, by) if known.store == store.id() => Some((known, by)),
        StateFile::Holds(..) | StateFile::Gone => None,
        StateFile::Unusable => return Ok(None),
    };
    let mut known = LogState { store: store.id().to_owned(), ..LogState::default() };
    if let Some((LogState { keys, broken, .. }, by)) = before {
        (known.keys, known.broken) = (keys, broken);
        known.keys.insert(by);
    }
    let Some((head, forgotten, signer)) = store.signed_end().await? else { return Ok(None) };
    if signer != key.public() && !known.keys.contains(&signer) {
        return Ok(None);
    }
    (known.head, known.forgotten) = (Some(head), Some(forgotten));
    Ok(Some(RestoredLog { known, key, folder: folder.to_owned() }))
}

fn known_from_now_on(log: Option<RestoredLog>) {
    let Some(RestoredLog { known, key, folder }) = log else { return };
    if let Err(error) = known.write(&folder, &key) {
        tracing::warn!(%error, "the head of the log was not written down");
    }
}

async fn bring_over(copy: &Database, file: &Path, now: i64) -> Result<Since, StoreError> {
    let mut connection = backup::open(copy).await?;
    let since = replaced::bring_over(&mut connection, file, now).await;
    // Closed in any case: a transaction that was not committed is rolled back.
    connection.close().await?;
    since
}

/// Keeps a pause on, notes in the log what was done, and counts what is open.
async fn finished(
    store: &Store,
    since: Option<&Result<Since, StoreError>>,
    now: i64,
) -> Result<(i64, i64), StoreError> {
    if let Some(Ok(Since { paused: Some(pause), .. })) = since
        && store.pause().await?.is_none()
    {
        store.set_pause(pause).await?;
    }
    store.note(now, "restored", None, &json!({})).await?;
    let overdue =
        sqlx::query("SELECT count(*) AS n FROM ask WHERE state = 'open' AND deadline_at <= $1");
    let overdue = store.one(overdue.bind(now)).await?.try_get("n")?;
    Ok((store.count_open().await?, overdue))
}

/// Moves the current store aside and the new one into its place; returns where the old one is.
fn swap(file: &Path, part: &Path, now: i64) -> Result<Option<PathBuf>, RestoreError> {
    let aside = beside(file, &format!(".replaced-{now}"));
    let moved = |from: &Path, to: &Path| {
        fs::rename(from, to).map_err(|source| RestoreError::Io { at: from.to_owned(), source })
    };
    let mut kept = Vec::new();
    for end in ["", "-wal", "-shm", "-journal"] {
        let (was, to) = (beside(file, end), beside(&aside, end));
        if !was.exists() {
            continue;
        }
        if let Err(error) = moved(&was, &to) {
            back(&kept);
            return Err(error);
        }
        kept.push((was, to));
    }
    match backup::finish(part, file) {
        Ok(()) => Ok((!kept.is_empty()).then_some(aside)),
        Err(error) => {
            back(&kept);
            let source = io::Error::other(error);
            Err(RestoreError::Io { at: file.to_owned(), source })
        }
    }
}

/// Moves files back to where they were.
fn back(kept: &[(PathBuf, PathBuf)]) {
    for (was, to) in kept {
        let _ = fs::rename(to, was);
    }
}
