//! A pool of connections: to a server, or to an SQLite file for reads.
//!
//! We keep our own pool, because sqlx pings each connection after use, which costs as much as the
//! use did, and other pools reuse a connection that was dropped in the middle of a transaction.
//! Here a connection is returned only after success.

use super::{
    connection::{ConnectionTimeouts, ReadQuery, SqlDialect, Tx, connect},
    log_rows::LogRows,
};
use sqlx::{
    Connection,
    any::{AnyConnectOptions, AnyRow},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

/// Connections to a server; more would only wait for each other there.
const TO_A_SERVER: u32 = 8;
/// Connections to a file: the second works while the first runs a long read.
const TO_A_FILE: u32 = 2;
/// A connection used within this time is assumed to be alive, and is not pinged.
const IDLE: Duration = Duration::from_secs(1);
/// The pause between two attempts to reach a server that restarts.
const AGAIN: Duration = Duration::from_millis(50);

/// The connections made since one moment. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ConnectionPool {
    options: AnyConnectOptions,
    dialect: SqlDialect,
    rows: Arc<LogRows>,
    patience: Duration,
    most: u32,
    permits: Arc<Semaphore>,
    free: Free,
    pub(super) since: Instant,
}

/// Idle connections with the time of their last use, most recently used last.
type Free = Arc<Mutex<Vec<(Tx, Instant)>>>;

impl ConnectionPool {
    /// Creates an empty pool: each connection is made when it is first needed.
    pub(super) fn new(
        options: &AnyConnectOptions,
        dialect: SqlDialect,
        limits: ConnectionTimeouts,
        rows: &Arc<LogRows>,
    ) -> Self {
        let most = match dialect {
            SqlDialect::Sqlite => TO_A_FILE,
            SqlDialect::Postgres => TO_A_SERVER,
        };
        Self {
            options: options.clone(),
            dialect,
            rows: rows.clone(),
            patience: limits.patience,
            most,
            permits: Arc::new(Semaphore::new(most as usize)),
            free: Free::default(),
            since: Instant::now(),
        }
    }

    /// Returns a connection, pinged if it was idle for long.
    pub(super) async fn acquire(&self) -> Result<PooledConnection, sqlx::Error> {
        // One timeout for both steps, so that a caller never waits for a permit and a connection in
        // full.
        let pooled = timeout(self.patience, async {
            let permit = self.permits.clone().acquire_owned().await;
            let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
            let connection = match self.idle().await {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            Ok(PooledConnection { connection, free: self.free.clone(), _permit: permit })
        });
        pooled.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// All rows of the query; it sees everything that was committed before.
    pub(super) async fn all(&self, query: ReadQuery<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut pooled = self.acquire().await?;
        let rows = query.fetch_all(&mut *pooled.connection).await?;
        pooled.give_back();
        Ok(rows)
    }

    /// The first row of the query.
    pub(super) async fn first(&self, query: ReadQuery<'_>) -> Result<Option<AnyRow>, sqlx::Error> {
        let mut pooled = self.acquire().await?;
        let row = query.fetch_optional(&mut *pooled.connection).await?;
        pooled.give_back();
        Ok(row)
    }

    /// Waits for the connections in use, and closes all.
    pub(super) async fn close(&self) {
        // Holding every permit means that no connection is in use, and none can be taken
        // afterwards.
        let _all = self.permits.acquire_many(self.most).await;
        self.permits.close();
        let free = std::mem::take(&mut *lock(&self.free));
        for (connection, _) in free {
            let _ = connection.close().await;
        }
    }

    /// Connects, and retries while the server restarts.
    async fn connect(&self) -> Result<Tx, sqlx::Error> {
        let until = Instant::now() + self.patience;
        loop {
            match connect(&self.options, self.dialect).await {
                Err(error) if is_starting(&error) && Instant::now() + AGAIN < until => {
                    sleep(AGAIN).await;
                }
                done => return Ok(Tx::new(done?, self.rows.clone())),
            }
        }
    }

    async fn idle(&self) -> Option<Tx> {
        loop {
            // The most recently used one, so that the others stay idle and few need a ping.
            let (mut connection, since) = lock(&self.free).pop()?;
            let fresh = self.dialect == SqlDialect::Sqlite || since.elapsed() < IDLE;
            if fresh || connection.ping().await.is_ok() {
                return Some(connection);
            }
        }
    }
}

/// A connection in use. If it is dropped without [`give_back`](Self::give_back), it is closed,
/// which rolls its transaction back.
pub(super) struct PooledConnection {
    pub(super) connection: Tx,
    free: Free,
    _permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    /// Returns the connection to the pool after success.
    pub(super) fn give_back(self) {
        lock(&self.free).push((self.connection, Instant::now()));
    }
}

// A restarting server refuses or resets connections, or accepts one and answers that it is starting
// up. Any other error (wrong password, no such database) does not go away by waiting.
fn is_starting(error: &sqlx::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    match error {
        sqlx::Error::Io(error) => {
            matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
        }
        sqlx::Error::Database(error) => error.is_transient_in_connect_phase(),
        _ => false,
    }
}

fn lock(free: &Free) -> MutexGuard<'_, Vec<(Tx, Instant)>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}
