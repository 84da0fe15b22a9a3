//! The store: SQLite or PostgreSQL through sqlx, in one SQL text. Only this crate speaks SQL.
//!
//! - asks: `asks` (their rows), `changes` (every change of one that is stored), `listing`;
//! - cards: `cards`, `outbox` (what is due, and what became of it), `bundles`, `threads`;
//! - `grants`, with budgets and reviews; `people`; `agents`, with their sessions; `parked`; `lease`;
//! - the log: `log`, `sealer` (its key and what is known of it), `sealing` (what one transaction
//!   of it does);
//! - below them: `engine` and its `writer`, `schema`, `database`, `private`, `backup`, `error`.
//!
//! INVARIANT: the ask's row is the truth. Every change of an ask is one compare-and-set in one
//! transaction with its event, its grants and the cards that have to follow; the loser of a race
//! gets the row as it is now.
//!
//! Every function fails when the store does, and one that reads rows when one does not read back.
//! Then nothing is changed, unless the error is [`StoreError::Uncertain`]; where more follows from
//! it, the function says so.

mod agents;
mod asks;
mod backup;
mod bundles;
mod cards;
mod changes;
mod database;
mod engine;
mod error;
mod grants;
mod lease;
mod listing;
mod log;
mod outbox;
mod parked;
mod people;
pub mod private;
mod schema;
mod sealer;
mod sealing;
mod threads;
mod writer;

pub use agents::{
    AgentLimit, AgentPause, AgentToken, KnownSession, NewAgentToken, Reads, SessionContext,
};
pub use asks::{DueStep, Inserted, OpenInSession, Overdue};
pub use backup::{BackupError, RestoreError, RestoredStore, Since, back_up, restore};
pub use bundles::{BUNDLE, Bundle, BundleKey, BundleNews, BundleRow, Member, Twin};
pub use cards::{Belongs, CardRow, NewCard, OwedText};
pub use changes::{Closed, TakenStep};
pub use database::{Database, Remembered};
pub use error::{StoreError, Trouble};
pub use grants::{Grant, GrantUse, OpenReviews, UNDO_MS};
pub use lease::{CLOCK_MS, DAEMON, Fence, Leader};
pub use listing::{Found, HistoryRange, ListCursor, Listed};
pub use log::{Event, LogDestinationState, LogPage, NewEvent, Resumed, Tail};
pub use outbox::{
    DigestTry, DrawnCard, Due, DueDigest, DuePage, DueReminder, LateCards, NewDigest,
    SHOWN_WITHIN_MS, Seen, Shown,
};
pub use parked::{ParkOutcome, Parked, Resumption, TakeOutcome};
pub use people::{Absence, AbsentPeople, PasskeyStored, PasskeyUse, StoredPasskey};
pub use sealer::{LogBreak, LogSealer, known_head, log_key_problem};
pub use threads::{ThreadKey, ThreadRow};

use countersign_tokens::{clock, ids};
use engine::{ConnectionTimeouts, Engine, LIMITS, ReadQuery, Statement, Tx, Work};
use error::Condition;
use sqlx::{Row, any::AnyRow};
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;

/// A handle to the daemon's database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    database: Database,
    condition: Arc<Condition>,
    /// This daemon's name, a random one until it is told; it marks our own hints, so that we
    /// ignore them, and what this daemon was asked.
    name: Arc<str>,
    /// The step of the tables, once it is one that this version does not know.
    newer: Arc<OnceLock<i64>>,
    /// Notified after each change that other daemons may want to read.
    news: Arc<Notify>,
}

impl Store {
    /// Connects, creates a missing SQLite file, and brings the tables up to date.
    ///
    /// # Errors
    /// When the database is unreachable, read-only or not a store of this version.
    pub async fn open(database: &Database) -> Result<Self, StoreError> {
        Self::open_within(database, LIMITS).await
    }

    /// Opens the store of an installation that may have had one before.
    ///
    /// # Errors
    /// As [`Store::open`], and when the known store is gone or replaced by another; nothing is
    /// created then.
    pub async fn open_as(database: &Database, known: &Remembered) -> Result<Self, StoreError> {
        Self::begin(Engine::open(database, LIMITS, Some(known)).await?, database).await
    }

    async fn open_within(
        database: &Database,
        limits: ConnectionTimeouts,
    ) -> Result<Self, StoreError> {
        Self::begin(Engine::open(database, limits, None).await?, database).await
    }

    async fn begin(engine: Engine, database: &Database) -> Result<Self, StoreError> {
        let store = Self {
            engine,
            database: database.clone(),
            condition: Arc::default(),
            name: ids::nonce().into(),
            newer: Arc::default(),
            news: Arc::default(),
        };
        // An SQLite file has one daemon (its lock is held), so every lease in it belongs to a
        // process that has ended. Without this a restart would wait until the old lease runs out.
        if !store.is_shared() {
            store.end_leases().await?;
        }
        Ok(store)
    }

    /// The store's id: 8 characters `[0-9a-z]`, random, fixed when the store is created. A copy of
    /// a store has the same id. It is no secret and carries no authority.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.engine.id
    }

    /// The same store for the daemon of this name.
    #[must_use]
    pub fn named(self, daemon: &str) -> Self {
        Self { name: daemon.into(), ..self }
    }

    /// Writes and reads one row; returns what is wrong with the store, if anything is.
    pub async fn probe(&self) -> Option<Trouble> {
        // A write, because a full disk or a read-only server still answers reads.
        let probe = sqlx::query(
            "INSERT INTO pulse (id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET at = $1",
        );
        let error = self.execute(probe.bind(clock::now_ms())).await.err()?;
        Some(Trouble::of(&error, &self.database).unwrap_or_else(|| Trouble {
            says: error.to_string(),
            fix: "look at the daemon's log".to_owned(),
        }))
    }

    /// The fault injection of tests.
    #[cfg(any(test, debug_assertions))]
    pub fn faults(&self) -> &testkit::faults::Faults {
        &self.engine.faults
    }

    /// Closes all connections; SQLite then copies its write-ahead log into the file.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    /// All rows of a query.
    async fn all(&self, query: ReadQuery<'_>) -> Result<Vec<AnyRow>, StoreError> {
        #[cfg(any(test, debug_assertions))]
        let _under_way = self.engine.faults.under_way();
        let reading = self.engine.all(query);
        #[cfg(any(test, debug_assertions))]
        let reading = self.engine.faults.seen_through(reading);
        let read = reading.await;
        // Only a failure is noted: a store on a full disk can still be read, so only a write shows
        // that it works again.
        if read.is_err() {
            self.condition.note(&self.database, &read);
        }
        read
    }

    /// The first row of a query.
    async fn maybe(&self, query: ReadQuery<'_>) -> Result<Option<AnyRow>, StoreError> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// The first row of a query that always returns one.
    async fn one(&self, query: ReadQuery<'_>) -> Result<AnyRow, StoreError> {
        self.maybe(query).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// The only column of the first row of a query.
    async fn value<T>(&self, query: ReadQuery<'_>) -> Result<Option<T>, StoreError>
    where
        T: for<'r> sqlx::Decode<'r, sqlx::Any> + sqlx::Type<sqlx::Any>,
    {
        Ok(self.maybe(query).await?.map(|row| row.try_get(0)).transpose()?)
    }

    /// The only column of all rows of a query.
    async fn texts(&self, query: ReadQuery<'_>) -> Result<Vec<String>, StoreError> {
        self.all(query).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// The time in the only row of a query, in Unix milliseconds.
    async fn time(&self, query: &'static str) -> Result<Option<i64>, StoreError> {
        Ok(self.one(sqlx::query(query)).await?.try_get(0)?)
    }

    /// Runs work in a transaction, which is committed if the work returns `Ok` and rolled back
    /// otherwise.
    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        #[cfg(any(test, debug_assertions))]
        let _under_way = self.engine.faults.under_way();
        let written = match self.knows_its_tables() {
            Ok(()) => self.engine.write(work).await,
            Err(error) => Err(error),
        };
        self.condition.note(&self.database, &written);
        written
    }

    /// Commits this work, and then tells other daemons that there is something new.
    async fn change<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        let done = self.write(work).await?;
        self.tell();
        Ok(done)
    }

    /// Runs these statements in one transaction.
    async fn execute_all(&self, statements: Vec<Statement>) -> Result<(), StoreError> {
        if statements.is_empty() {
            return Ok(());
        }
        self.write(move |tx| Box::pin(tx.run_all(statements))).await
    }

    /// Runs one statement in its own transaction; returns the number of changed rows.
    async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        self.write(move |tx| Box::pin(tx.run(statement))).await
    }
}

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod outages;
#[cfg(any(test, debug_assertions))]
pub mod testkit;
#[cfg(test)]
mod tests;
