//! Errors of the store.

use std::{path::PathBuf, sync::Arc};

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
    #[error("the store holds something unreadable in `{column}`: {source}")]
    Unreadable {
        /// The column.
        column: &'static str,
        /// The parser's error.
        source: serde_json::Error,
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
