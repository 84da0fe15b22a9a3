//! The store: SQLite or PostgreSQL through sqlx, in one SQL text. Only this module speaks SQL.
//!
//! INVARIANT: the ask's row is the truth. Every change of an ask is one compare-and-set in one
//! transaction with its event, its grants and the cards that have to follow; whoever loses the race
//! gets the row as it now stands.

mod asks;
mod backup;
mod cards;
mod closing;
mod database;
mod engine;
mod events;
mod grants;
mod identity;
mod lease;
mod lines;
mod listing;
mod migrations;
mod outbox;

mod reconcile;
mod retention;
mod sessions;
mod shared;
mod soundness;
mod tail;
mod trouble;
mod writer;

pub use asks::{Inserted, NewAsk};
pub use backup::{BackupError, back_up};
pub use cards::{CardRow, NewCard};
pub use closing::Closed;
pub use events::Event;
pub use grants::{Grant, GrantScope};
pub use lease::{DAEMON, Fence, Leader};
pub use outbox::{Due, Shown};
pub use sessions::Standing;
pub use tail::Tail;
pub use trouble::Trouble;

pub use database::Database;

use crate::{clock, ids};
use engine::{Engine, LIMITS, Limits, Reading, Statement, Tx, Work};
use sqlx::any::AnyRow;
use std::{path::PathBuf, sync::Arc};
use tokio::sync::Notify;
use trouble::Condition;

/// The daemon's memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    database: Database,
    condition: Arc<Condition>,
    /// Says which hints are our own.
    name: Arc<str>,
    /// Something changed that other daemons may want to know.
    news: Arc<Notify>,
}

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

impl Store {
    /// Connects, makes an SQLite file that is not there, and brings the tables up to date.
    ///
    /// # Errors
    /// When the database cannot be reached, written or understood.
    pub async fn open(database: &Database) -> Result<Self, StoreError> {
        Self::open_within(database, LIMITS).await
    }

    async fn open_within(database: &Database, limits: Limits) -> Result<Self, StoreError> {
        let engine = Engine::open(database, limits).await?;
        let (condition, name, news) = (Arc::default(), ids::nonce().into(), Arc::default());
        let store = Self { engine, database: database.clone(), condition, name, news };
        if !store.is_shared() {
            store.end_leases().await?;
        }
        Ok(store)
    }

    /// What is wrong with the store right now, if something is: it is written to, and read.
    pub async fn probe(&self) -> Option<Trouble> {
        let probe = sqlx::query(
            "INSERT INTO pulse (id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET at = $1",
        );
        let error = self.execute(probe.bind(clock::now_ms())).await.err()?;
        Some(Trouble::of(&error, &self.database).unwrap_or_else(|| Trouble {
            says: error.to_string(),
            mend: "look at the daemon's log".to_owned(),
        }))
    }

    /// What tests do to it.
    #[cfg(test)]
    pub(crate) fn weather(&self) -> &weather::Weather {
        &self.engine.weather
    }

    /// Closes all connections, so that the write-ahead log is folded in.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    /// All that a reading query finds.
    async fn all(&self, query: Reading<'_>) -> Result<Vec<AnyRow>, StoreError> {
        self.read(self.engine.all(query)).await
    }

    /// The first row of it.
    async fn maybe(&self, query: Reading<'_>) -> Result<Option<AnyRow>, StoreError> {
        self.read(self.engine.first(query)).await
    }

    /// The first row of what always has one.
    async fn one(&self, query: Reading<'_>) -> Result<AnyRow, StoreError> {
        self.maybe(query).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    async fn read<T>(
        &self,
        reading: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        #[cfg(test)]
        let _under_way = self.engine.weather.under_way();
        #[cfg(test)]
        let reading = self.engine.weather.seen_through(reading);
        let read = reading.await;
        if read.is_err() {
            self.condition.note(&self.database, &read);
        }
        read
    }

    /// Runs work in a transaction; it is committed when this returns well, and undone otherwise.
    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        #[cfg(test)]
        let _under_way = self.engine.weather.under_way();
        let written = self.engine.write(work).await;
        self.condition.note(&self.database, &written);
        written
    }

    /// Runs one statement as a transaction of its own; how many rows it changed.
    async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        self.write(move |tx| {
            Box::pin(async move { Ok(statement.execute(&mut *tx).await?.rows_affected()) })
        })
        .await
    }
}

fn read<T: serde::de::DeserializeOwned>(column: &'static str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Unreadable { column, source })
}

fn write<T: serde::Serialize>(column: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Unreadable { column, source })
}

#[cfg(test)]
mod damaged;
#[cfg(test)]
pub(crate) mod engines;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod weather;
