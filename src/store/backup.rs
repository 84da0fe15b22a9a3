//! Copies an SQLite store while the daemon uses it, and puts a copy in the place of a store while no
//! daemon runs. What people revoked after the backup stays revoked.

use super::{
    Database, Remembered, Store, StoreError,
    changes::pause_of,
    database::{check_log, damage},
    engine::own,
    private::{self, beside},
    sealer::{KeyFile, LogState, StateFile, read_key},
};
use countersign_domain::{deadline::Pause, log::SigningKey};
use serde_json::json;
use sqlx::{AnyConnection, Connection, Executor, Row, any::AnyConnectOptions};
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
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
    #[error("{} already exists; name another file", .0.display())]
    There(PathBuf),
    /// There is no store to copy.
    #[error("there is no store at {} yet", .0.display())]
    NoStore(PathBuf),
    /// The copy could not be written.
    #[error("{}: {error}", at.display())]
    Io {
        /// The file.
        at: PathBuf,
        /// The system's error. No source, which would be told twice.
        error: io::Error,
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

async fn copy(database: &Database, part: &Path) -> Result<i64, BackupError> {
    let io = |error| BackupError::Io { at: part.to_owned(), error };
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
    if let Some(damage) = damage(&mut copy, "PRAGMA integrity_check").await? {
        return Err(BackupError::Damaged(damage));
    }
    let asks = copy.fetch_one("SELECT count(*) FROM ask").await.map_err(StoreError::from)?;
    copy.close().await.map_err(StoreError::from)?;
    Ok(asks.try_get(0).map_err(StoreError::from)?)
}

/// Opens an existing file; `mode=rw` never creates one.
async fn open(database: &Database) -> Result<AnyConnection, StoreError> {
    let mut options: AnyConnectOptions = database.url().parse()?;
    options.database_url.set_query(Some("mode=rw"));
    Ok(AnyConnection::connect_with(&options).await?)
}

/// Renames the complete file to its target.
fn finish(part: &Path, to: &Path) -> Result<(), BackupError> {
    let io = |error| BackupError::Io { at: to.to_owned(), error };
    // The rename is durable only after its folder is synced too; the content must be on disk before
    // it.
    File::open(part).and_then(|file| file.sync_all()).map_err(io)?;
    fs::rename(part, to).map_err(io)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new("."))).and_then(|at| at.sync_all()).map_err(io)
}

const SERVER: &str = "the store is on a PostgreSQL server, which is restored with its own tools: \
    stop all daemons, then pg_restore --clean --if-exists --dbname=URL FILE";

/// The reason why nothing was restored, as a sentence. The store is as it was.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RestoreError(String);

impl RestoreError {
    fn at(file: &Path, what: impl fmt::Display) -> Self {
        Self(format!("{}: {what}", file.display()))
    }
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
    let refuse = |why: String| Err(RestoreError(why));
    let Some(file) = database.file() else { return refuse(SERVER.to_owned()) };
    if !from.is_file() {
        return refuse(format!("there is no backup {}", from.display()));
    }
    if from.canonicalize().ok() == file.canonicalize().ok() {
        return refuse(format!("{} is the store itself; name a backup of it", file.display()));
    }
    private::folder_of_store(file.parent().unwrap_or(Path::new("."))).map_err(RestoreError)?;
    private::files(file).map_err(RestoreError)?;
    // Held until the end: no daemon starts meanwhile.
    let running =
        |error| RestoreError(format!("{error}; a store is restored while no daemon runs"));
    let _owned = own(file).map_err(running)?;
    let part = beside(file, ".restoring");
    let done = prepared(file, from, &part, known, now).await;
    let done = match done {
        Ok((restored, log)) => swap(file, &part, now).map(|replaced| {
            known_from_now_on(log);
            RestoredStore { replaced, ..restored }
        }),
        Err(error) => Err(error),
    };
    for end in private::BESIDE {
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
    let unreadable = |why: String| {
        RestoreError(format!("{} is not an intact backup of a store: {why}", from.display()))
    };
    let refused = |error: StoreError| RestoreError::at(from, error);
    match copy(&Database::Sqlite(from.to_owned()), part).await {
        Ok(_) => {}
        Err(BackupError::Damaged(why)) => return Err(unreadable(why)),
        Err(error @ BackupError::Io { .. }) => return Err(RestoreError(error.to_string())),
        Err(error) => return Err(unreadable(error.to_string())),
    }
    let copy = Database::Sqlite(part.to_owned());
    let store = Store::open_as(&copy, known).await.map_err(refused)?;
    let log = restored_log(&store, known.folder()).await.map_err(refused)?;
    let since = if file.exists() { Some(since_backup(&copy, file, now).await) } else { None };
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
        fs::rename(from, to).map_err(|error| RestoreError::at(from, error))
    };
    let mut kept = Vec::new();
    for end in ["", "-wal", "-shm", "-journal"] {
        let was = beside(file, end);
        let to = beside(&aside, end);
        if !was.exists() {
            continue;
        }
        if let Err(error) = moved(&was, &to) {
            back(&kept);
            return Err(error);
        }
        kept.push((was, to));
    }
    match finish(part, file) {
        Ok(()) => Ok((!kept.is_empty()).then_some(aside)),
        Err(error) => {
            back(&kept);
            Err(RestoreError(error.to_string()))
        }
    }
}

/// Moves files back to where they were.
fn back(kept: &[(PathBuf, PathBuf)]) {
    for (was, to) in kept {
        let _ = fs::rename(to, was);
    }
}

/// What was brought over from the store that a backup replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The grants that were revoked after the backup.
    pub revoked: u64,
    /// The agents' tokens that were revoked or rotated after the backup: revoked in both cases.
    pub tokens: u64,
    /// The passkeys that were removed after the backup.
    pub passkeys: u64,
    /// The asks that were open in the backup and closed after it.
    pub closed: u64,
    /// The pause that is on.
    pub paused: Option<Pause>,
}

/// Asks that were answered, expired or cancelled after the backup.
const CLOSED: &str = "\
    UPDATE ask SET state = o.state, version = o.version, answer = o.answer, \
        closed_at = o.closed_at, progress = o.progress, key = o.key, left_ms = NULL \
    FROM replaced.ask AS o WHERE o.id = ask.id AND ask.state = 'open' AND o.state <> 'open'";

/// What became of an answer after the backup: that its call was started, or that it was undone.
// SECURITY: a call that was approved before the backup and ran after it does not run once more.
const NOTED: &str = "\
    UPDATE ask SET answer = o.answer, version = o.version FROM replaced.ask AS o \
    WHERE o.id = ask.id AND ask.state <> 'open' AND o.state = ask.state \
        AND o.version > ask.version";

/// Their cards are redrawn where they were posted; one without a message is given up.
const CARDS: &str = "\
    UPDATE card SET message = o.message, shown = o.shown, wanted = o.wanted, bundle = NULL, \
        gone = CASE WHEN o.message IS NULL THEN coalesce(o.gone, 'restored') ELSE o.gone END \
    FROM replaced.card AS o WHERE o.nonce = card.nonce \
        AND card.ask IN (SELECT id FROM ask WHERE state <> 'open')";

const REVOKED: &str = "\
    UPDATE grants SET revoked_at = o.revoked_at, undo_until = NULL \
    FROM replaced.grants AS o WHERE o.id = grants.id \
        AND grants.revoked_at IS NULL AND o.revoked_at IS NOT NULL";

/// What people said in reviews after the backup asks on.
const REVIEWED: &str = "\
    INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, granted_by, created_at, \
        written) \
    SELECT id, ask, tool, pattern, scope, agent, session, granted_by, created_at, written \
    FROM replaced.grants WHERE scope = 'review' AND revoked_at IS NULL \
        AND id NOT IN (SELECT id FROM grants)";

/// What was spent of a budget stays spent.
const SPENT: &str = "\
    UPDATE grants SET spent_at = o.spent_at FROM replaced.grants AS o WHERE o.id = grants.id \
        AND grants.spent_at IS NULL AND o.spent_at IS NOT NULL";

/// A run that was resumed or given up since is not parked any more, and who resumed one of the others
/// before has no right to it.
const RESUMED: [&str; 2] = [
    "DELETE FROM parked WHERE taken IS NULL \
        AND ask NOT IN (SELECT ask FROM replaced.parked WHERE taken IS NULL)",
    "UPDATE parked SET epoch = max(parked.epoch, o.epoch) \
        FROM replaced.parked AS o WHERE o.ask = parked.ask",
];

/// A rotated token is revoked: which of the two stores has its newer secret is not known.
const TOKENS: &str = "\
    UPDATE agent_token SET revoked_at = coalesce(o.revoked_at, $1) \
    FROM replaced.agent_token AS o WHERE o.id = agent_token.id \
        AND agent_token.revoked_at IS NULL \
        AND (o.revoked_at IS NOT NULL OR o.hash <> agent_token.hash)";

const TOKEN_PAUSES: &str = "\
    UPDATE agent_token SET paused_at = o.paused_at, paused_why = o.paused_why, \
        pause_ask = o.pause_ask \
    FROM replaced.agent_token AS o WHERE o.id = agent_token.id \
        AND agent_token.paused_at IS NULL AND o.paused_at IS NOT NULL";

const REMOVED_PASSKEYS: &str = "\
    DELETE FROM passkey WHERE id NOT IN (SELECT id FROM replaced.passkey)";

/// A counter never falls: an assertion that was used is not used again.
const COUNTERS: &str = "\
    UPDATE passkey SET counter = max(passkey.counter, o.counter), used_at = o.used_at \
    FROM replaced.passkey AS o WHERE o.id = passkey.id";

/// Brings over into the restored store what the store in `file` knows and the backup does not.
async fn since_backup(copy: &Database, file: &Path, now: i64) -> Result<Since, StoreError> {
    let mut restored = open(copy).await?;
    let since = bring_over(&mut restored, file, now).await;
    // Closed in any case: a transaction that was not committed is rolled back.
    restored.close().await?;
    since
}

// FAIL-CLOSED: a restored store approves nothing that a person has revoked since.
async fn bring_over(
    restored: &mut AnyConnection,
    file: &Path,
    now: i64,
) -> Result<Since, StoreError> {
    // SQLite would silently discard the end of a damaged write-ahead log.
    check_log(file)?;
    let attach = sqlx::query("ATTACH DATABASE $1 AS replaced");
    attach.bind(file.to_string_lossy().into_owned()).execute(&mut *restored).await?;
    if let Some(damage) = damage(restored, "PRAGMA replaced.quick_check(1)").await? {
        return Err(StoreError::Damaged(damage));
    }
    restored.execute("BEGIN IMMEDIATE").await?;
    restored.execute(NOTED).await?;
    for statement in RESUMED {
        restored.execute(statement).await?;
    }
    let closed = restored.execute(CLOSED).await?.rows_affected();
    restored.execute(CARDS).await?;
    let revoked = restored.execute(REVOKED).await?.rows_affected();
    restored.execute(REVIEWED).await?;
    restored.execute(SPENT).await?;
    restored.execute(TOKEN_PAUSES).await?;
    let tokens = sqlx::query(TOKENS).bind(now).execute(&mut *restored).await?.rows_affected();
    restored.execute(COUNTERS).await?;
    let passkeys = restored.execute(REMOVED_PASSKEYS).await?.rows_affected();
    let pause = "SELECT how, paused_by, since FROM replaced.pause WHERE id = 1";
    let paused = pause_of(&restored.fetch_one(pause).await?)?;
    restored.execute("COMMIT").await?;
    Ok(Since { revoked, tokens, passkeys, closed, paused })
}
