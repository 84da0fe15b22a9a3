//! The connections to the database: to a server, or to an SQLite file beside its one writer.
//!
//! We keep our own pool, because sqlx pings each connection after use, which costs as much as the
//! use did, and other pools take back a connection that was dropped in the middle of a transaction.
//! Here a connection goes back only after success.

use super::connection::{Dialect, Limits, Reading, connect};
use sqlx::{
    AnyConnection, Connection,
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

/// To a server; more only wait for each other there.
const TO_A_SERVER: u32 = 8;
/// To a file: the second works while the first reads something long.
const TO_A_FILE: u32 = 2;
/// A connection that was used within this time is taken as good.
const IDLE: Duration = Duration::from_secs(1);
/// Between two tries to reach a server that restarts.
const AGAIN: Duration = Duration::from_millis(50);

/// Connections that were made since one moment. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct ConnectionPool {
    options: AnyConnectOptions,
    dialect: Dialect,
    patience: Duration,
    most: u32,
    permits: Arc<Semaphore>,
    free: Free,
    pub(super) since: Instant,
}

/// Idle connections, and since when; the one that was used last comes last.
type Free = Arc<Mutex<Vec<(AnyConnection, Instant)>>>;

impl ConnectionPool {
    /// Makes an empty pool: each connection is made when it is first needed.
    pub(super) fn new(options: &AnyConnectOptions, dialect: Dialect, limits: Limits) -> Self {
        let most = match dialect {
            Dialect::Sqlite => TO_A_FILE,
            Dialect::Postgres => TO_A_SERVER,
        };
        Self {
            options: options.clone(),
            dialect,
            patience: limits.patience,
            most,
            permits: Arc::new(Semaphore::new(most as usize)),
            free: Free::default(),
            since: Instant::now(),
        }
    }

    /// A working connection, as far as can be known.
    pub(super) async fn acquire(&self) -> Result<PooledConnection, sqlx::Error> {
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

    /// All that the query finds; it sees everything that was committed before.
    pub(super) async fn all(&self, query: Reading<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut pooled = self.acquire().await?;
        let rows = query.fetch_all(&mut pooled.connection).await?;
        pooled.give_back();
        Ok(rows)
    }

    /// The first row of it.
    pub(super) async fn first(&self, query: Reading<'_>) -> Result<Option<AnyRow>, sqlx::Error> {
        let mut pooled = self.acquire().await?;
        let row = query.fetch_optional(&mut pooled.connection).await?;
        pooled.give_back();
        Ok(row)
    }

    /// Waits for those in use, and closes them all.
    pub(super) async fn close(&self) {
        let _all = self.permits.acquire_many(self.most).await;
        self.permits.close();
        let free = std::mem::take(&mut *lock(&self.free));
        for (connection, _) in free {
            let _ = connection.close().await;
        }
    }

    /// Connects, and waits for a server that restarts.
    async fn connect(&self) -> Result<AnyConnection, sqlx::Error> {
        let until = Instant::now() + self.patience;
        loop {
            match connect(&self.options, self.dialect).await {
                Err(error) if is_starting(&error) && Instant::now() + AGAIN < until => {
                    sleep(AGAIN).await;
                }
                done => return done,
            }
        }
    }

    async fn idle(&self) -> Option<AnyConnection> {
        loop {
            let (mut connection, since) = lock(&self.free).pop()?;
            let fresh = self.dialect == Dialect::Sqlite || since.elapsed() < IDLE;
            if fresh || connection.ping().await.is_ok() {
                return Some(connection);
            }
        }
    }
}

/// A connection in use. Dropped without [`give_back`](Self::give_back), it is closed, which rolls its
/// transaction back.
pub(super) struct PooledConnection {
    pub(super) connection: AnyConnection,
    free: Free,
    _permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    /// Returns it to the pool after success.
    pub(super) fn give_back(self) {
        lock(&self.free).push((self.connection, Instant::now()));
    }
}

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

fn lock(free: &Free) -> MutexGuard<'_, Vec<(AnyConnection, Instant)>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}
