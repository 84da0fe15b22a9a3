//! The store: SQLite or PostgreSQL through sqlx, in one SQL text. Only this module speaks SQL.
//!
//! INVARIANT: the ask's row is the truth. Every change of an ask is one compare-and-set in one
//! transaction with its event, its grants and the cards that have to follow; whoever loses the race
//! gets the row as it now stands.

mod asks;
mod backup;
mod cards;
mod closing;
mod connection;
mod connection_pool;
mod database;
mod engine;
mod error;
mod events;
mod grants;
mod identity;
mod integrity;
mod lease;
mod listing;
mod migrations;
mod outbox;
mod owed_text;
pub mod private;
mod reconcile;
mod remembered;
mod retention;
mod rows;
mod sessions;
mod shared;
mod tail;
mod trouble;
mod writer;

pub use asks::{Inserted, NewAsk, Overdue};
pub use backup::{BackupError, back_up};
pub use cards::{CardRow, NewCard};
pub use closing::Closed;
pub use error::StoreError;
pub use events::Event;
pub use grants::{Grant, GrantScope};
pub use lease::{DAEMON, Fence, Leader};
pub use listing::{Listed, Place};
pub use outbox::{Due, DuePage, Shown};
pub use owed_text::OwedText;
pub use remembered::Remembered;
pub use sessions::Standing;
pub use tail::{Resumed, Tail};
pub use trouble::Trouble;

pub use database::Database;

use crate::{clock, ids};
use connection::{LIMITS, Limits, Reading, Statement, Tx, Work};
use engine::Engine;
use sqlx::any::AnyRow;
use std::sync::Arc;
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

impl Store {
    /// Connects, makes an SQLite file that is not there, and brings the tables up to date.
    ///
    /// # Errors
    /// When the database cannot be reached, written or understood.
    pub async fn open(database: &Database) -> Result<Self, StoreError> {
        Self::open_within(database, LIMITS).await
    }

    /// The same for an installation that may have had a store before.
    ///
    /// # Errors
    /// Also when that is gone, or another one stands in its place; then nothing was made.
    pub async fn open_as(database: &Database, known: &Remembered) -> Result<Self, StoreError> {
        Self::begin(Engine::open(database, LIMITS, Some(known)).await?, database).await
    }

    async fn open_within(database: &Database, limits: Limits) -> Result<Self, StoreError> {
        Self::begin(Engine::open(database, limits, None).await?, database).await
    }

    async fn begin(engine: Engine, database: &Database) -> Result<Self, StoreError> {
        let (condition, name, news) = (Arc::default(), ids::nonce().into(), Arc::default());
        let store = Self { engine, database: database.clone(), condition, name, news };
        if !store.is_shared() {
            store.end_leases().await?;
        }
        Ok(store)
    }

    /// The store's id: 8 characters `[0-9a-z]`, random and the same for as long as the store lives.
    /// A copy of a store has the same id. It is no secret and carries no authority.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.engine.id
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

    /// The faults that tests inject.
    #[cfg(test)]
    pub(crate) fn faults(&self) -> &fault_injection::Faults {
        &self.engine.faults
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
        let _under_way = self.engine.faults.under_way();
        #[cfg(test)]
        let reading = self.engine.faults.seen_through(reading);
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
        let _under_way = self.engine.faults.under_way();
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

#[cfg(test)]
mod damaged;
#[cfg(test)]
pub(crate) mod engines;
#[cfg(test)]
pub(crate) mod fault_injection;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod tests;
