//! The integrity check of an SQLite file, before a daemon works on it.
//!
//! SQLite notices damage only in pages that it happens to read. It also accepts any complete prefix
//! of the write-ahead log and does not report which commits are missing.

use super::StoreError;
use sqlx::{AnyConnection, Executor, Row};
use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

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
    let found = connection.fetch_one("PRAGMA quick_check(1)").await?;
    match found.try_get::<String, _>(0)? {
        sound if sound == "ok" => Ok(()),
        damage => Err(StoreError::Damaged(damage.replace('\n', " "))),
    }
}

/// Checks that the write-ahead log holds everything that was committed, before SQLite opens the
/// file and discards what does not verify. A daemon that was killed leaves the log's index
/// (`-shm`), which counts the committed frames.
// FAIL-CLOSED: an acknowledged answer is not lost silently.
pub(super) fn check_log(file: &Path) -> Result<(), StoreError> {
    let (log, index) = (beside(file, "-wal"), beside(file, "-shm"));
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
        match big {
            true => (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])),
            false => (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])),
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

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use crate::{Database, Store, Trouble, engines::Fresh, tests::new_ask};
    use std::fs;
    use tempfile::TempDir;

    /// Leaves the files of a daemon that was killed after it stored some asks.
    async fn killed(asks: usize) -> (TempDir, Database) {
        let fresh = Fresh::sqlite();
        let store = Store::open(&fresh.database).await.unwrap();
        for n in 0..asks {
            store.insert_ask(&new_ask(&format!("ask{n}"), None, None), &[]).await.unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (fresh.database.file().unwrap(), folder.path().join("store.db"));
        for end in ["", "-wal", "-shm"] {
            fs::copy(beside(from, end), beside(&to, end)).unwrap();
        }
        store.close().await;
        (folder, Database::Sqlite(to))
    }

    async fn asks(database: &Database) -> usize {
        let store = Store::open(database).await.unwrap();
        let asks = store.asks_in("open", None).await.unwrap().asks.len();
        store.close().await;
        asks
    }

    /// The trouble that an operator sees when a daemon starts on this file.
    async fn refused(database: &Database) -> Trouble {
        Trouble::of(&Store::open(database).await.unwrap_err(), database).unwrap()
    }

    #[tokio::test]
    async fn what_a_killed_daemon_leaves_is_whole() {
        let (_folder, database) = killed(20).await;
        let file = database.file().unwrap();
        assert!(Committed::in_index(&beside(file, "-shm")).unwrap().frames > 20);
        assert_eq!(asks(&database).await, 20);
    }

    #[tokio::test]
    async fn a_write_ahead_log_that_is_cut_damaged_or_gone_is_refused_every_time() {
        for damage in ["cut", "flipped", "empty", "gone"] {
            let (_folder, database) = killed(20).await;
            let log = beside(database.file().unwrap(), "-wal");
            let mut bytes = fs::read(&log).unwrap();
            let (middle, whole) = (bytes.len() / 2, bytes.clone());
            match damage {
                "cut" => bytes.truncate(middle),
                "flipped" => bytes[middle] ^= 1,
                _ => bytes.clear(),
            }
            fs::write(&log, bytes).unwrap();
            if damage == "gone" {
                fs::remove_file(&log).unwrap();
            }
            for _ in 0..2 {
                let trouble = refused(&database).await;
                assert!(trouble.says.contains("store.db-wal"), "{damage}: {trouble:?}");
                assert!(trouble.fix.contains("backup"), "{damage}: {trouble:?}");
            }
            fs::write(&log, whole).unwrap();
            assert_eq!(asks(&database).await, 20, "{damage}: it was left as it was");
        }
    }

    #[tokio::test]
    async fn without_its_index_a_file_starts_with_what_is_left() {
        let (_folder, database) = killed(20).await;
        let log = beside(database.file().unwrap(), "-wal");
        let bytes = fs::read(&log).unwrap();
        fs::write(&log, &bytes[..bytes.len() - 4_096]).unwrap();
        let trouble = refused(&database).await;
        let index = beside(database.file().unwrap(), "-shm");
        assert!(trouble.fix.contains(&index.display().to_string()), "{trouble:?}");
        fs::remove_file(index).unwrap();
        assert_eq!(asks(&database).await, 19);
    }

    #[tokio::test]
    async fn a_page_that_was_overwritten_is_found_at_the_start() {
        let (_folder, database) = killed(200).await;
        assert_eq!(asks(&database).await, 200);
        let file = database.file().unwrap();
        let sound = fs::read(file).unwrap();
        let pages = sound.len() / 4_096;
        let mut found = 0;
        for page in 1..pages {
            let mut bytes = sound.clone();
            bytes[page * 4_096..][..2_048].fill(0x5a);
            fs::write(file, bytes).unwrap();
            match Store::open(&database).await {
                Ok(store) => store.close().await,
                Err(error) => {
                    let trouble = Trouble::of(&error, &database).unwrap();
                    assert!(trouble.says.contains("store.db is damaged"), "{trouble:?}");
                    assert!(trouble.fix.contains("put a backup in its place"), "{trouble:?}");
                    found += 1;
                }
            }
        }
        assert_eq!(found, pages - 1, "every page is looked at");
    }
}
