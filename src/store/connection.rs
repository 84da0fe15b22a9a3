//! A connection to SQLite or PostgreSQL: its setup, and where the two engines differ.

use super::{StoreError, log_rows::LogRows};
use countersign_domain::log::ProvenRow;
use futures::future::BoxFuture;
use sqlx::{
    Any, AnyConnection, Connection, Executor,
    any::{AnyArguments, AnyConnectOptions},
    query::Query,
};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};
use tokio::time::timeout;

/// A connection for transactions, which proves the rows of the log that are written on it.
pub(super) struct Tx {
    connection: AnyConnection,
    rows: Arc<LogRows>,
    /// The numbers of those in the transaction.
    written: Vec<i64>,
}

impl Tx {
    pub(super) fn new(connection: AnyConnection, rows: Arc<LogRows>) -> Self {
        Self { connection, rows, written: Vec::new() }
    }

    /// The proof of a row of the log that is written next.
    pub(super) fn prove(&mut self, row: &ProvenRow<'_>) -> String {
        let (number, proof) = self.rows.prove(row);
        self.written.push(number);
        proof
    }

    /// The rows of the log that were written since this was asked.
    pub(super) fn take_written(&mut self) -> Vec<i64> {
        std::mem::take(&mut self.written)
    }

    /// The work was committed.
    pub(super) fn was_committed(&mut self) {
        self.rows.committed(&std::mem::take(&mut self.written));
    }

    /// The work was rolled back.
    pub(super) fn was_undone(&mut self) {
        self.rows.settled(&std::mem::take(&mut self.written));
    }

    pub(super) async fn close(self) -> Result<(), sqlx::Error> {
        self.connection.close().await
    }
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tx").field("written", &self.written).finish_non_exhaustive()
    }
}

impl Deref for Tx {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        &self.connection
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}

/// A query with its bound values.
pub(super) type ReadQuery<'q> = Query<'q, Any, AnyArguments>;
pub(super) type Statement = ReadQuery<'static>;
/// The work done inside a transaction.
pub(super) type Work<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// Timeouts of the database. They are needed because a connection that was cut reports no error.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionTimeouts {
    /// Until a connection is acquired.
    pub(super) patience: Duration,
    /// For one piece of work, and again for its commit.
    pub(super) longest: Duration,
    /// Between notifications, until the listening connection counts as dead.
    pub(super) silence: Duration,
}

/// The timeouts of a daemon.
pub(super) const LIMITS: ConnectionTimeouts = ConnectionTimeouts {
    patience: Duration::from_secs(5),
    longest: Duration::from_secs(10),
    silence: Duration::from_secs(60),
};

/// `synchronous = FULL`, not NORMAL: an acknowledged press survives a power cut, not only a crash
/// of the daemon.
const SQLITE: &str = "PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; \
                      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";
/// The server ends a session that hangs, and so releases its locks. Both limits together are
/// shorter than [`Tail`](super::Tail) waits for a gap in the ids.
const POSTGRES: &str = "SET synchronous_commit = on; SET statement_timeout = '10s'; \
                        SET idle_in_transaction_session_timeout = '15s'";

/// The engine, for the few statements that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlDialect {
    Sqlite,
    Postgres,
}

impl SqlDialect {
    /// Adapts a migration to this engine; the files are written for SQLite.
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

/// Connects and sets up one connection.
pub(super) async fn connect(
    options: &AnyConnectOptions,
    dialect: SqlDialect,
) -> Result<AnyConnection, sqlx::Error> {
    // The timeout covers the set-up too: a server that accepts connections and then hangs would
    // block it.
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
