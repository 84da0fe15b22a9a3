//! The location of the store, and what is checked there before a daemon works on it: that it is the
//! store that this installation had, and that an SQLite file is whole.
//!
//! A store that is gone or replaced is noticed by its id, instead of silently replaced by an empty
//! one. The id also distinguishes daemons that use one bot with different stores.
//!
//! SQLite notices damage only in pages that it happens to read. It also accepts any complete prefix
//! of the write-ahead log and does not report which commits are missing.

use super::{StoreError, private};
use countersign_tokens::{file, ids, secret::Secret};
use sqlx::{AnyConnection, Executor, Row};
use std::{
    fmt,
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

/// The location of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// An SQLite file, owned by one daemon.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database, with its credentials.
    Postgres(Secret),
}

impl Database {
    /// Parses `sqlite:FILE` or `postgres://USER@HOST/DATABASE`; `resolve` makes a file's path
    /// absolute.
    ///
    /// # Errors
    /// Names the expected forms. It does not repeat the input, which may hold a password.
    pub fn read(text: &str, resolve: impl Fn(&str) -> PathBuf) -> Result<Self, String> {
        const WANTED: &str = "must be \"sqlite:FILE\" or \"postgres://USER@HOST/DATABASE\"";
        if let Some(rest) = text.strip_prefix("sqlite:") {
            // `:memory:` would lose every ask at a restart, so it is no store.
            return match rest.strip_prefix("//").unwrap_or(rest) {
                "" | ":memory:" => Err(WANTED.into()),
                file => Ok(Self::Sqlite(resolve(file))),
            };
        }
        match url::Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "postgres" | "postgresql") => {
                Ok(Self::Postgres(Secret::new(text)))
            }
            _ => Err(WANTED.into()),
        }
    }

    /// The file, if the store is a file.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(file) => Some(file),
            Self::Postgres(_) => None,
        }
    }

    /// The server's host and port, if the store is on a server.
    #[must_use]
    pub fn address(&self) -> Option<String> {
        let Self::Postgres(url) = self else { return None };
        let url = url::Url::parse(url.reveal()).ok()?;
        Some(format!("{}:{}", url.host_str()?, url.port().unwrap_or(5432)))
    }

    /// The URL that the drivers parse.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Postgres(url) => url.reveal().to_owned(),
            Self::Sqlite(file) => {
                let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                let name = file.to_string_lossy();
                // The driver decodes percent escapes and takes `?` for options, so a file name with
                // such characters would open another file.
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
                let spelled: String = name
                    .bytes()
                    .map(|byte| {
                        if plain(byte) {
                            char::from(byte).to_string()
                        } else {
                            format!("%{byte:02X}")
                        }
                    })
                    .collect();
                format!("sqlite://{spelled}?mode=rwc")
            }
        }
    }
}

// SECURITY: the password of a database is never shown.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Sqlite(file) => return write!(f, "{}", file.display()),
            Self::Postgres(url) => url,
        };
        let Ok(mut url) = url::Url::parse(url.reveal()) else { return f.write_str("postgres") };
        let _ = url.set_password(None);
        url.set_query(None);
        f.write_str(url.as_str())
    }
}

/// The name of the file in the state folder, beside the tokens.
const FILE: &str = "store.id";

/// The store known from earlier starts.
#[derive(Debug, Clone)]
pub struct Remembered {
    file: PathBuf,
    /// `None` at the first start.
    id: Option<String>,
}

impl Remembered {
    /// Reads the id that an earlier start recorded in this folder.
    ///
    /// # Errors
    /// When the file cannot be read or holds no id.
    // FAIL-CLOSED: an unreadable file does not count as a first start.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let file = folder.join(FILE);
        let id = match file::read(&file) {
            Ok(text) => text.map(|text| text.trim().to_owned()),
            Err(error) => return Err(StoreError::Marker { file, why: error.to_string() }),
        };
        let plain = |id: &String| id.len() == 8 && id.bytes().all(|b| b.is_ascii_alphanumeric());
        if id.as_ref().is_some_and(|id| !plain(id)) {
            return Err(StoreError::Marker { file, why: "it holds no id of a store".to_owned() });
        }
        Ok(Self { file, id })
    }

    /// The state folder.
    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    /// Knows no store: the one that is found becomes this installation's.
    #[must_use]
    pub fn nothing(folder: &Path) -> Self {
        Self { file: folder.join(FILE), id: None }
    }

    /// Records the id for the next start.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, id: &str) -> Result<(), StoreError> {
        if self.id.as_deref() == Some(id) {
            return Ok(());
        }
        let marker = |error: io::Error| StoreError::Marker {
            file: self.file.clone(),
            why: error.to_string(),
        };
        file::replace(&self.file, format!("{id}\n")).map_err(marker)
    }

    /// Checks that a known file exists, before anything is created.
    pub(super) fn check_file(&self, file: &Path) -> Result<(), StoreError> {
        let size = |path: &Path| path.metadata().map_or(0, |found| found.len());
        if size(file) > 0 {
            return Ok(());
        }
        let log = private::beside(file, "-wal");
        let how = match (file.exists(), size(&log) > 0) {
            (false, true) => "the file is gone, and only its write-ahead log is left",
            (true, true) => "the file is empty, and only its write-ahead log is left",
            (false, false) => "there is no such file",
            (true, false) => "the file is empty",
        };
        match &self.id {
            // A first start may create a file, but not beside a log that holds somebody's commits.
            None if size(&log) == 0 => Ok(()),
            id => Err(self.gone(how, id.as_deref())),
        }
    }

    /// Checks that the known store's tables exist and have its id, before any table is created.
    pub(super) async fn check_tables(
        &self,
        connection: &mut AnyConnection,
        database: &Database,
    ) -> Result<(), StoreError> {
        let Some(known) = &self.id else { return Ok(()) };
        match id_in(connection).await? {
            Some(found) if found == *known => Ok(()),
            Some(found) => {
                Err(StoreError::Another { found, known: known.clone(), marker: self.file.clone() })
            }
            // A backup from before stores had ids: we cannot tell whose it is, but it is a store.
            None if has_asks(connection).await => Ok(()),
            None => {
                let how = match database {
                    Database::Sqlite(_) => "the file holds no store",
                    Database::Postgres(_) => "the database holds no store",
                };
                Err(self.gone(how, Some(known)))
            }
        }
    }

    fn gone(&self, how: &'static str, known: Option<&str>) -> StoreError {
        let known = known.map(|id| (id.to_owned(), self.file.clone()));
        StoreError::Gone { how, known }
    }
}

/// The id in the tables; `None` if there are no tables.
async fn id_in(connection: &mut AnyConnection) -> Result<Option<String>, StoreError> {
    let row = sqlx::query("SELECT value FROM meta WHERE name = 'store_id'");
    match row.fetch_optional(&mut *connection).await {
        Ok(row) => Ok(row.map(|row| row.try_get("value")).transpose()?),
        Err(sqlx::Error::Database(error))
            // `42P01` is PostgreSQL's "undefined table"; SQLite has no code of its own for it.
            if error.code().as_deref() == Some("42P01")
                || error.message().starts_with("no such table") =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

async fn has_asks(connection: &mut AnyConnection) -> bool {
    sqlx::query("SELECT 1 FROM ask LIMIT 1").fetch_optional(connection).await.is_ok()
}

/// Reads the id, or creates one if there is none yet.
// Runs on the connection that opens the store: a pooled one would stay idle afterwards, and be dead
// once the server restarts.
pub(super) async fn identify(connection: &mut AnyConnection) -> Result<String, StoreError> {
    if let Some(id) = id_in(connection).await? {
        return Ok(id);
    }
    // Several daemons may start at once on a new database; the id that is committed first wins, so
    // each reads it back instead of returning its own.
    sqlx::query("INSERT INTO meta (name, value) VALUES ('store_id', $1) ON CONFLICT DO NOTHING")
        .bind(ids::ask_id())
        .execute(&mut *connection)
        .await?;
    Ok(id_in(connection).await?.ok_or(sqlx::Error::RowNotFound)?)
}

/// The largest file that is checked at each start. This size takes three seconds on a slow disk,
/// and a third of a second once it is cached; it holds more than 250,000 open asks. Of a larger
/// file only backups are checked.
const LARGEST: u64 = 256 << 20;

/// The length of the index's header that we read, and the offsets in it.
const INDEX: usize = 100;
const INDEX_COPY: usize = 48;
const INDEX_VERSION: u32 = 3_007_000;

/// Checks the structure of all pages.
// FAIL-CLOSED: the daemon does not work on a damaged file.
pub(super) async fn check_pages(
    connection: &mut AnyConnection,
    file: &Path,
) -> Result<(), StoreError> {
    let size = file.metadata().map_or(0, |file| file.len());
    if size > LARGEST {
        tracing::info!(
            size,
            "the store is too large to be looked through at every start; backups are"
        );
        return Ok(());
    }
    // `quick_check` and not `integrity_check`: it does not compare each index with its table, which
    // would take much longer. The argument ends it at the first error.
    match damage(connection, "PRAGMA quick_check(1)").await? {
        None => Ok(()),
        Some(damage) => Err(StoreError::Damaged(damage.replace('\n', " "))),
    }
}

/// What a check of SQLite's finds.
pub(super) async fn damage(
    connection: &mut AnyConnection,
    check: &'static str,
) -> Result<Option<String>, StoreError> {
    let found: String = connection.fetch_one(check).await?.try_get(0)?;
    Ok(Some(found).filter(|found| found != "ok"))
}

/// Checks that the write-ahead log holds everything that was committed, before SQLite opens the
/// file and discards what does not verify. A daemon that was killed leaves the log's index
/// (`-shm`), which counts the committed frames.
// FAIL-CLOSED: an acknowledged answer is not lost silently.
pub(super) fn check_log(file: &Path) -> Result<(), StoreError> {
    let log = private::beside(file, "-wal");
    let index = private::beside(file, "-shm");
    let Some(committed) = Committed::in_index(&index) else { return Ok(()) };
    let found = File::open(&log).map(BufReader::new);
    match found.map_or(Some(0), |log| committed.found_in(log)) {
        // A log that is missing counts as zero frames: the index proves that there were some.
        Some(frames) if frames < committed.frames => {
            Err(StoreError::LogCut { log, index, missing: committed.frames - frames })
        }
        _ => Ok(()),
    }
}

/// The committed part of the write-ahead log, according to its index.
#[derive(Debug)]
struct Committed {
    frames: u32,
    page: usize,
    salt: [u8; 8],
}

impl Committed {
    /// `None` if every commit has been copied into the file, or if the index is unusable: it is
    /// never synced, so a power cut may leave anything in it.
    fn in_index(index: &Path) -> Option<Self> {
        let mut head = [0; INDEX];
        File::open(index).ok()?.read_exact(&mut head).ok()?;
        let (first, rest) = head.split_at(INDEX_COPY);
        let (second, checkpoint) = rest.split_at(INDEX_COPY);
        let number = |from: usize| native(first.get(from..)?);
        let frames = number(16)?;
        // SQLite writes the header twice and updates the copies in order. If they differ, the
        // daemon was killed while it wrote them, and the index proves nothing.
        // The format of the index is internal to SQLite, so another version is not interpreted.
        let whole = first == second && number(0)? == INDEX_VERSION && *first.get(12)? == 1;
        let page = match u16::from_ne_bytes(first.get(14..16)?.try_into().ok()?) {
            // SQLite stores a page size of 65536 as 1, because the field has 16 bits.
            1 => 1 << 16,
            size => usize::from(size),
        };
        let salt = first.get(32..40)?.try_into().ok()?;
        // Frames up to the checkpoint have been copied into the file; if that is all of them, the
        // log is not needed.
        (whole && native(checkpoint)? < frames).then_some(Self { frames, page, salt })
    }

    /// Counts the intact frames in order; `None` if the log is newer than the index.
    fn found_in(&self, mut log: impl Read) -> Option<u32> {
        let mut head = [0; 32];
        if log.read_exact(&mut head).is_err() {
            return Some(0);
        }
        // The salt changes with every restart of the log. Another salt means that the index is
        // older.
        if head.get(16..24)? != self.salt {
            return None;
        }
        // The last bit of the log's magic number is the byte order of its checksums.
        let big = head.get(3)? & 1 == 1;
        let mut sum = checksum((0, 0), head.get(..24)?, big);
        if !is(sum, head.get(24..)?) {
            return Some(0);
        }
        let mut frame = vec![0; 24 + self.page];
        for found in 0..self.frames {
            if log.read_exact(&mut frame).is_err() || frame.get(8..16)? != self.salt {
                return Some(found);
            }
            // The checksum runs over all frames before, so a frame from an earlier round of the
            // log, whose place was not overwritten yet, does not verify.
            sum = checksum(checksum(sum, frame.get(..8)?, big), frame.get(24..)?, big);
            if !is(sum, frame.get(16..24)?) {
                return Some(found);
            }
        }
        Some(self.frames)
    }
}

/// SQLite's running checksum over pairs of 32-bit words.
fn checksum(before: (u32, u32), bytes: &[u8], big: bool) -> (u32, u32) {
    let words = |pair: &[u8; 8]| {
        let [a, b, c, d, e, f, g, h] = *pair;
        if big {
            (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
        } else {
            (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
        }
    };
    bytes.as_chunks::<8>().0.iter().map(words).fold(before, |(one, two), (first, second)| {
        let one = one.wrapping_add(first).wrapping_add(two);
        (one, two.wrapping_add(second).wrapping_add(one))
    })
}

fn is((one, two): (u32, u32), kept: &[u8]) -> bool {
    kept == [one.to_be_bytes(), two.to_be_bytes()].concat()
}

fn native(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.first_chunk()?))
}

#[cfg(test)]
mod tests;
