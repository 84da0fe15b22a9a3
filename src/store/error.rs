//! Errors of the store, and what an operator has to know of them.

use super::Database;
use serde::Serialize;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// An error of the store. Nothing was changed, unless the variant says that this is uncertain.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database returned an error.
    #[error("the store failed: {0}")]
    Sql(Arc<sqlx::Error>),
    /// The connection was lost during the commit, which may have happened.
    #[error("it is uncertain whether the store kept it: {0}")]
    Uncertain(String),
    /// The database did not answer within the timeout.
    #[error("the store gave no answer in time")]
    Late,
    /// The store is closed because the daemon is stopping.
    #[error("the store is closed")]
    Closed,
    /// Another process has the store open.
    #[error("{0}")]
    NotOurs(String),
    /// The file is damaged.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The write-ahead log lacks commits that its index counts.
    #[error("the store's write-ahead log lacks {missing} of the pages that were committed to it")]
    LogCut {
        /// The write-ahead log.
        log: PathBuf,
        /// Its index, which counts more frames.
        index: PathBuf,
        /// The number of missing pages.
        missing: u32,
    },
    /// The store that this installation had is gone.
    #[error("{how}{}", known.as_ref().map_or_else(String::new, |(id, file)| {
        format!(", and {} says that the store {id} was there", file.display())
    }))]
    Gone {
        /// What was found instead.
        how: &'static str,
        /// The known id, and the file that records it.
        known: Option<(String, PathBuf)>,
    },
    /// Another store is in its place.
    #[error("it is the store {found}, and {} says that {known} was there", marker.display())]
    Another {
        /// The id that was found.
        found: String,
        /// The id that was expected.
        known: String,
        /// The file that records the expected id.
        marker: PathBuf,
    },
    /// The key that signs the log cannot be used.
    #[error("{}, the key that signs the log, cannot be used: {why}", file.display())]
    LogKey {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file that records the store's id cannot be used.
    #[error("{}, which says which store was there, cannot be used: {why}", file.display())]
    Marker {
        /// The file.
        file: PathBuf,
        /// The reason.
        why: String,
    },
    /// The tables could not be migrated.
    #[error("the store could not be brought up to date: {0}")]
    Migrate(sqlx::migrate::MigrateError),
    /// The tables are newer than this program.
    #[error(
        "the store was written by a newer countersign (its tables are at step {0}); start that \
         version, or put a backup of this version in its place"
    )]
    Newer(i64),
    /// A newer program changed the tables while this one runs.
    #[error(
        "a newer countersign has changed the tables (step {step}; this daemon knows {known}), so \
         this one writes nothing more"
    )]
    Outdated {
        /// The step of the tables.
        step: i64,
        /// The newest step of this program.
        known: i64,
    },
    /// A column cannot be parsed; the row is not used.
    #[error("the store holds something unreadable in `{column}`: {error}")]
    Unreadable {
        /// The column.
        column: &'static str,
        /// The parser's error. No source, which would be told twice.
        error: serde_json::Error,
    },
    /// The row of an ask differs from what was written; the ask is not used.
    #[error(
        "the ask `{ask}` is damaged in the store ({why}), so it cannot be shown or answered; look \
         at the disk, and have its agent ask again"
    )]
    DamagedAsk {
        /// The ask's id.
        ask: String,
        /// The reason.
        why: String,
    },
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

/// A fault of the store, and its fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// The fault, as a sentence.
    pub says: String,
    /// The fix.
    pub fix: String,
}

/// The store's state after its last operation. Only changes are logged, not each failure.
#[derive(Debug, Default)]
pub(super) struct Condition(Mutex<Option<Trouble>>);

impl Condition {
    /// Records the result of an operation.
    pub(super) fn note<T>(&self, database: &Database, done: &Result<T, StoreError>) {
        let found = match done {
            Ok(_) => None,
            Err(error) => match Trouble::of(error, database) {
                Some(trouble) => Some(trouble),
                // The database answered, and the error concerns only this operation.
                None => return,
            },
        };
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*now, &found) {
            (before, Some(trouble)) if before.as_ref() != Some(trouble) => {
                tracing::error!(fix = trouble.fix, "the store does not work: {}", trouble.says);
            }
            (Some(_), None) => tracing::info!("the store works again"),
            _ => {}
        }
        *now = found;
    }
}

impl StoreError {
    /// Returns whether the connection is dead, rather than the operation wrong.
    pub(super) fn is_of_the_connection(&self) -> bool {
        match self {
            Self::Late => true,
            Self::Sql(error) => match &**error {
                sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => true,
                // The server is shutting down, has crashed or is starting.
                sqlx::Error::Database(error) => {
                    error.code().is_some_and(|code| code.starts_with("57P"))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns whether only one row is unreadable: the store works, and waiting does not help.
    #[must_use]
    pub fn is_of_a_row(&self) -> bool {
        match self {
            Self::Unreadable { .. } | Self::DamagedAsk { .. } => true,
            Self::Sql(error) => {
                matches!(&**error, sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. })
            }
            _ => false,
        }
    }
}

impl Trouble {
    /// The fault of the store behind an error; `None` if the error concerns only one operation.
    #[must_use]
    pub fn of(error: &StoreError, database: &Database) -> Option<Self> {
        let (says, fix) = match error {
            StoreError::Sql(error) => return sql(error, database),
            StoreError::Migrate(sqlx::migrate::MigrateError::Execute(error)) => {
                return sql(error, database);
            }
            StoreError::Late | StoreError::Uncertain(_) => {
                (format!("{database} does not answer ({error})"), reach(database))
            }
            StoreError::Damaged(what) => {
                (format!("{database} is damaged ({what})"), restore(&database.to_string()))
            }
            StoreError::LogCut { log, index, .. } => (
                format!("{} does not hold all that was committed last ({error})", log.display()),
                format!(
                    "put that file back as it was, or a backup in the place of {database}; \
                     removing {} starts without what is missing",
                    index.display()
                ),
            ),
            StoreError::Gone { .. } => (
                format!("the store {database} is gone: {error}"),
                "put it back, or a backup of it in its place; `countersign serve --new-store` \
                 starts afresh, without the asks and grants that were in it"
                    .to_owned(),
            ),
            StoreError::Another { .. } => (
                format!("{database} is not the store that was there: {error}"),
                "set [store] url to that one, or put it or a backup of it back; `countersign serve \
                 --new-store` goes on with the one that is there now"
                    .to_owned(),
            ),
            StoreError::LogKey { file, .. } => (
                error.to_string(),
                format!("put {} back from a backup, or remove it for a new key", file.display()),
            ),
            StoreError::Marker { file, .. } => (
                error.to_string(),
                format!(
                    "let the daemon read and write {}; where its content is lost, `countersign \
                     serve --new-store` starts with the store that it finds",
                    file.display()
                ),
            ),
            StoreError::NotOurs(why) => (why.clone(), "stop the other program".to_owned()),
            StoreError::Outdated { .. } => {
                (error.to_string(), "update this daemon too, and restart it".to_owned())
            }
            StoreError::Closed => {
                ("the daemon has closed it".to_owned(), "restart the daemon".to_owned())
            }
            StoreError::Migrate(_)
            | StoreError::Newer(_)
            | StoreError::Unreadable { .. }
            | StoreError::DamagedAsk { .. } => {
                return None;
            }
        };
        Some(Self { says, fix })
    }
}

fn sql(error: &sqlx::Error, database: &Database) -> Option<Trouble> {
    let (says, fix) = match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            match database.file() {
                Some(_) => sqlite(&code, database)?,
                None => postgres(&code, database)?,
            }
        }
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => (format!("{database} cannot be reached"), reach(database)),
        _ => return None,
    };
    Some(Trouble { says: format!("{says} ({error})"), fix })
}

/// By SQLite's primary result code.
fn sqlite(code: &str, database: &Database) -> Option<(String, String)> {
    let at = database.to_string();
    let code: i32 = code.parse().ok()?;
    // The upper bits are SQLite's extended code; the fix depends only on the primary one.
    // BUSY 5, LOCKED 6, NOMEM 7, READONLY 8, IOERR 10, CORRUPT 11, FULL 13, CANTOPEN 14, NOTADB 26.
    let (says, fix) = match code & 0xff {
        5 | 6 => ("is locked by another program", format!("close whatever else has {at} open")),
        7 => ("has no memory left", "free memory".to_owned()),
        8 => (
            "cannot be written",
            format!(
                "make {at} and its folder writable for the daemon; if its disk turned read-only \
                 by itself, check the system's log"
            ),
        ),
        10 => ("cannot be read or written", "look at the disk and the system's log".to_owned()),
        11 | 26 => ("is damaged or no database", restore(&at)),
        13 => ("has no room left", format!("free space on the disk that holds {at}")),
        14 => ("cannot be opened", format!("make sure that {at} and its folder are there")),
        _ => return None,
    };
    Some((format!("{at} {says}"), fix))
}

/// By SQLSTATE.
fn postgres(code: &str, database: &Database) -> Option<(String, String)> {
    // disk_full, too_many_connections, read_only_sql_transaction, invalid_catalog_name,
    // insufficient_privilege, query_canceled; then the classes 28 (authorization), 57P (shutdown
    // and crash), 08 (connection), XX (internal error) and 58 (system error).
    let (says, fix) = match code {
        "53100" => ("has no room left", "free space on the server's disk".to_owned()),
        "53300" => ("accepts no more connections", "raise its max_connections".to_owned()),
        "25006" => ("is read-only", "name the primary server in [store] url".to_owned()),
        "3D000" => ("is not there", "create the database, or correct [store] url".to_owned()),
        "42501" => ("refuses us", "grant this user the schema and its tables".to_owned()),
        "57014" => ("takes too long", "look at what else runs on the server".to_owned()),
        _ if code.starts_with("28") => {
            ("refused the login", "correct user or password in [store] url".to_owned())
        }
        _ if code.starts_with("57P") || code.starts_with("08") => {
            ("is not serving", reach(database))
        }
        _ if code.starts_with("XX") || code.starts_with("58") => {
            ("has an error of its own", "look at the server's log".to_owned())
        }
        _ => return None,
    };
    Some((format!("{database} {says}"), fix))
}

fn reach(database: &Database) -> String {
    match database.file() {
        Some(file) => format!("look at the disk that holds {}", file.display()),
        None => "see that PostgreSQL runs and that [store] url names it".to_owned(),
    }
}

fn restore(at: &str) -> String {
    format!("stop the daemon, keep {at} aside, and put a backup in its place")
}
