//! The engine under the store: SQLite or PostgreSQL, spoken to in the same words.

use super::{Database, StoreError, migrations};
use futures::future::BoxFuture;
use sqlx::{
    Any, AnyConnection, AnyPool, Connection, Executor,
    any::{AnyArguments, AnyPoolOptions},
    query::Query,
};
use std::time::Duration;

/// A connection inside a transaction.
pub(super) type Tx = AnyConnection;
/// A statement with its values.
pub(super) type Statement = Query<'static, Any, AnyArguments>;
/// What is done inside a transaction.
pub(super) type Work<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// Connections to a PostgreSQL server; more would only wait for each other there.
const CONNECTIONS: u32 = 8;
/// How long a connection may be waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which engine it is, for the few words that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// A migration as this engine spells it; the files are written for SQLite.
    pub(super) fn spell(self, sql: &str) -> String {
        match self {
            Self::Sqlite => sql.to_owned(),
            Self::Postgres => sql.replace(
                "INTEGER PRIMARY KEY AUTOINCREMENT",
                "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
            ),
        }
    }
}

/// The database.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pool: AnyPool,
}

impl Engine {
    /// Connects, makes an SQLite file that is not there, and brings the tables up to date.
    pub(super) async fn open(database: &Database) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let (dialect, connections, set_up) = match database {
            // One connection: SQLite has one writer anyway, and waiting in our queue is fair.
            // FULL: an acknowledged press survives a power cut, not only a crash.
            Database::Sqlite(_) => (
                Dialect::Sqlite,
                1,
                "PRAGMA busy_timeout = 10000; PRAGMA foreign_keys = ON; \
                 PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL",
            ),
            Database::Postgres(_) => (
                Dialect::Postgres,
                CONNECTIONS,
                "SET synchronous_commit = on; SET statement_timeout = '10s'; \
                 SET idle_in_transaction_session_timeout = '15s'",
            ),
        };
        // A pool says only that it waited in vain; one connection says what is wrong.
        let mut first = AnyConnection::connect_with(&database.url().parse()?).await?;
        first.execute(sqlx::raw_sql(set_up)).await?;
        migrations::run(&mut first, dialect).await?;
        first.close().await?;
        let pool = AnyPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(PATIENCE)
            .after_connect(move |connection, _| {
                Box::pin(async move { connection.execute(sqlx::raw_sql(set_up)).await.map(drop) })
            })
            .connect(&database.url())
            .await?;
        Ok(Self { pool })
    }

    /// Where reading queries go; they see everything that was committed before.
    pub(super) fn reads(&self) -> &AnyPool {
        &self.pool
    }

    /// Runs work in a transaction; it is committed when this returns well, and undone otherwise.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        let mut tx: sqlx::Transaction<'static, Any> = self.pool.begin().await?;
        let done = work(&mut tx).await?;
        tx.commit().await?;
        Ok(done)
    }

    pub(super) async fn close(&self) {
        self.pool.close().await;
    }
}
