//! The store that this installation had: its id in a file of the state folder. A store that is gone
//! or replaced is noticed, instead of silently replaced by an empty one.

use super::{Database, StoreError, private};
use sqlx::{AnyConnection, Row};
use std::{
    io,
    path::{Path, PathBuf},
};

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
        let id = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
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
        private::write(&self.file, &format!("{id}\n")).map_err(marker)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{Store, engines::Fresh};

    #[tokio::test]
    async fn a_store_that_was_there_and_is_gone_is_refused_on_both_engines() {
        for fresh in [Some(Fresh::sqlite()), Fresh::postgres().await].into_iter().flatten() {
            let state = tempfile::tempdir().unwrap();
            let first = Remembered::read(state.path()).unwrap();
            let store = Store::open_as(&fresh.database, &first).await.unwrap();
            first.keep(store.id()).unwrap();
            let id = store.id().to_owned();
            store.close().await;
            drop(store);

            let known = Remembered::read(state.path()).unwrap();
            let again = Store::open_as(&fresh.database, &known).await.unwrap();
            assert_eq!(again.id(), id);
            again.close().await;
            drop(again);

            std::fs::write(state.path().join(FILE), "zzzzzzzz\n").unwrap();
            let other = Remembered::read(state.path()).unwrap();
            let error = Store::open_as(&fresh.database, &other).await.unwrap_err();
            assert!(matches!(&error, StoreError::Another { found, .. } if *found == id), "{error}");
            fresh.drop().await;
        }
        let empty = [Some(Fresh::sqlite()), Fresh::postgres().await];
        for fresh in empty.into_iter().flatten() {
            let state = tempfile::tempdir().unwrap();
            std::fs::write(state.path().join(FILE), "k8xd8s4n").unwrap();
            let known = Remembered::read(state.path()).unwrap();
            let error = Store::open_as(&fresh.database, &known).await.unwrap_err();
            assert!(matches!(error, StoreError::Gone { .. }), "{error}");
            if let Some(file) = fresh.database.file() {
                assert!(!file.exists(), "nothing is made");
            }
            let anew = Remembered::nothing(state.path());
            Store::open_as(&fresh.database, &anew).await.unwrap().close().await;
            fresh.drop().await;
        }
    }

    #[test]
    fn a_marker_that_cannot_be_read_is_no_first_start() {
        let state = tempfile::tempdir().unwrap();
        for text in ["", "x", "k8xd8s4n k8xd8s4n"] {
            std::fs::write(state.path().join(FILE), text).unwrap();
            assert!(Remembered::read(state.path()).is_err(), "{text:?}");
        }
    }
}
