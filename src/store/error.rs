//! Why the store could not do it.

use std::{path::PathBuf, sync::Arc};

/// The store could not do it. Nothing was changed, unless it says that this is uncertain.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no.
    #[error("the store failed: {0}")]
    Sql(Arc<sqlx::Error>),
    /// The line broke while the database was told to commit.
    #[error("it is uncertain whether the store kept it: {0}")]
    Uncertain(String),
    /// The database does not answer.
    #[error("the store gave no answer in time")]
    Late,
    /// The store is closed, because the daemon ends.
    #[error("the store is closed")]
    Closed,
    /// Somebody else has it.
    #[error("{0}")]
    NotOurs(String),
    /// The file is damaged.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// What was committed last is not there any more.
    #[error("the store's write-ahead log lacks {missing} of the pages that were committed to it")]
    LogCut {
        /// The write-ahead log.
        log: PathBuf,
        /// Its index, which remembers more.
        index: PathBuf,
        /// How many pages.
        missing: u32,
    },
    /// A store that was there is gone.
    #[error("{how}{}", known.as_ref().map_or_else(String::new, |(id, file)| {
        format!(", and {} says that the store {id} was there", file.display())
    }))]
    Gone {
        /// What there is instead.
        how: &'static str,
        /// Its id, and the file that says so.
        known: Option<(String, PathBuf)>,
    },
    /// Another store stands in its place.
    #[error("it is the store {found}, and {} says that {known} was there", marker.display())]
    Another {
        /// The id of what is there.
        found: String,
        /// The id that is known.
        known: String,
        /// The file that says so.
        marker: PathBuf,
    },
    /// It cannot be told which store was there.
    #[error("{}, which says which store was there, cannot be used: {why}", file.display())]
    Marker {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The database is not in the shape this program knows.
    #[error("the store could not be brought up to date: {0}")]
    Migrate(sqlx::migrate::MigrateError),
    /// The database knows more than this program.
    #[error(
        "the store was written by a newer countersign (its tables are at step {0}); start that \
         version, or put a backup of this version in its place"
    )]
    Newer(i64),
    /// A row does not read back; nothing is made of it.
    #[error("the store holds something unreadable in `{column}`: {source}")]
    Unreadable {
        /// Where.
        column: &'static str,
        /// What the reader said.
        source: serde_json::Error,
    },
    /// The row of an ask does not read back as it was written; nothing is made of it.
    #[error(
        "the ask `{ask}` is damaged in the store ({why}), so it cannot be shown or answered; look at \
         the disk, and have its agent ask again"
    )]
    DamagedAsk {
        /// Which ask.
        ask: String,
        /// What is wrong with it.
        why: String,
    },
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}
