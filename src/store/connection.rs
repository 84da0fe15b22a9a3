//! A connection to SQLite or PostgreSQL: how it is set up, and what differs between the two.

use super::StoreError;
use futures::future::BoxFuture;
use sqlx::{
    Any, AnyConnection, Connection, Executor,
    any::{AnyArguments, AnyConnectOptions},
    query::Query,
};
use std::time::Duration;
use tokio::time::timeout;

/// A connection inside a transaction.
pub(super) type Tx = AnyConnection;
/// A query with its values.
pub(super) type Reading<'q> = Query<'q, Any, AnyArguments>;
pub(super) type Statement = Reading<'static>;
/// What is done inside a transaction.
pub(super) type Work<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// How long to wait for the database. A connection that was cut reports nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For a connection.
    pub(super) patience: Duration,
    /// For one piece of work, and once more for its commit.
    pub(super) longest: Duration,
    /// For a notification, until its connection counts as dead.
    pub(super) silence: Duration,
}

/// The limits of a daemon.
pub(super) const LIMITS: Limits = Limits {
    patience: Duration::from_secs(5),
    longest: Duration::from_secs(10),
    silence: Duration::from_secs(60),
};

/// FULL: an acknowledged press survives a power cut, not only a crash.
const SQLITE: &str = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; \
                      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
/// A session that hangs gives its locks back before anybody has waited for long.
const POSTGRES: &str = "SET synchronous_commit = on; SET statement_timeout = '10s'; \
                        SET idle_in_transaction_session_timeout = '15s'";

/// The engine, for the few statements that differ.
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

    fn set_up(self) -> &'static str {
        match self {
            Self::Sqlite => SQLITE,
            Self::Postgres => POSTGRES,
        }
    }
}

/// One connection, set up.
pub(super) async fn connect(
    options: &AnyConnectOptions,
    dialect: Dialect,
) -> Result<AnyConnection, sqlx::Error> {
    let connecting = timeout(LIMITS.longest, async {
        let mut connection = AnyConnection::connect_with(options).await?;
        connection.execute(sqlx::raw_sql(dialect.set_up())).await?;
        Ok(connection)
    });
    connecting.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// Executes a statement that has no values and returns no rows.
pub(super) async fn execute(
    connection: &mut AnyConnection,
    statement: &'static str,
) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(statement)).await.map(drop)
}
