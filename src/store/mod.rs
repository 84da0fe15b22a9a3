//! The store: SQLite through sqlx. Only this module speaks SQL.
//!
//! INVARIANT: the ask's row is the truth. Every change of an ask is one compare-and-set in one
//! transaction with its event, its grants and the cards that have to follow; whoever loses the race
//! gets the row as it now stands.

mod asks;
mod cards;
mod events;
mod grants;

pub use asks::{Closed, Inserted, NewAsk};
pub use cards::{CardRow, NewCard};
pub use events::Event;
pub use grants::{Grant, GrantScope};

use sqlx::{
    SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{borrow::Cow, path::Path, time::Duration};

/// The daemon's memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: SqlitePool,
}

/// The store could not do it. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database said no.
    #[error("the store failed: {0}")]
    Sql(#[from] sqlx::Error),
    /// The database is not in the shape this program knows.
    #[error("the store could not be brought up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// A row does not read back; nothing is made of it.
    #[error("the store holds something unreadable in `{column}`: {source}")]
    Unreadable {
        /// Where.
        column: &'static str,
        /// What the reader said.
        source: serde_json::Error,
    },
}

impl Store {
    /// Opens the database file, makes it if it is not there, and brings it up to date.
    ///
    /// # Errors
    /// When the file cannot be opened, written or understood.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10))
            .journal_mode(SqliteJournalMode::Wal)
            // An acknowledged press survives a power cut, not only a crash.
            .synchronous(SqliteSynchronous::Full);
        // One connection: SQLite has one writer anyway, and waiting in our queue is fair.
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        migrator().run(&pool).await?;
        Ok(Self { pool })
    }

    /// Whether the store can be written right now.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        events::append(&mut tx, 0, "probe", None, &serde_json::Value::Null).await?;
        Ok(tx.rollback().await?)
    }

    /// Closes all connections, so that the write-ahead log is folded in.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

fn migrator() -> Migrator {
    let start = Migration::new(
        1,
        Cow::Borrowed("start"),
        MigrationType::Simple,
        sqlx::SqlStr::from_static(include_str!("migrations/0001_start.sql")),
        false,
    );
    Migrator::with_migrations(vec![start])
}

fn read<T: serde::de::DeserializeOwned>(column: &'static str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Unreadable { column, source })
}

fn write<T: serde::Serialize>(column: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Unreadable { column, source })
}

#[cfg(test)]
mod tests;
