//! The store: SQLite or PostgreSQL through sqlx, in one SQL text. Only this module speaks SQL.
//!
//! INVARIANT: the ask's row is the truth. Every change of an ask is one compare-and-set in one
//! transaction with its event, its grants and the cards that have to follow; whoever loses the race
//! gets the row as it now stands.

mod asks;
mod cards;
mod database;
mod engine;
mod events;
mod grants;
mod migrations;

pub use asks::{Closed, Inserted, NewAsk};
pub use cards::{CardRow, NewCard};
pub use events::Event;
pub use grants::{Grant, GrantScope};

pub use database::Database;

use engine::{Engine, Statement, Tx, Work};

/// The daemon's memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
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
    /// Not a fault: a probe that went well is undone like one.
    #[error("the store was only probed")]
    Probed,
}

impl Store {
    /// Connects, makes an SQLite file that is not there, and brings the tables up to date.
    ///
    /// # Errors
    /// When the database cannot be reached, written or understood.
    pub async fn open(database: &Database) -> Result<Self, StoreError> {
        Ok(Self { engine: Engine::open(database).await? })
    }

    /// Whether the store can be written right now.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let probe = self.write(|tx| {
            Box::pin(async move {
                events::append(tx, 0, "probe", None, &serde_json::Value::Null).await?;
                Err::<(), _>(StoreError::Probed)
            })
        });
        match probe.await {
            Err(StoreError::Probed) => Ok(()),
            other => other,
        }
    }

    /// Closes all connections, so that the write-ahead log is folded in.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    fn reads(&self) -> &sqlx::AnyPool {
        self.engine.reads()
    }

    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        self.engine.write(work).await
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
mod engines;
#[cfg(test)]
mod tests;
