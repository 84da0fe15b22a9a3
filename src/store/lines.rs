//! The lines to the database: to a server, or to an SQLite file beside its one writer.
//!
//! sqlx's own pool asks a line after every use whether it still stands, which costs as much as the
//! use did; other pools take back what was dropped in the middle of something. Here a line goes
//! back only when all went well.

use super::engine::{Dialect, Limits, Reading, connect};
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

/// To a server; more would only wait for each other there.
const TO_A_SERVER: u32 = 8;
/// To a file: the second goes on while the first reads something long.
const TO_A_FILE: u32 = 2;
/// A line that was used within this time is taken to stand still.
const IDLE: Duration = Duration::from_secs(1);
/// Between two tries to reach a server that is being started again.
const AGAIN: Duration = Duration::from_millis(50);

/// Lines of one time. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    options: AnyConnectOptions,
    dialect: Dialect,
    patience: Duration,
    most: u32,
    permits: Arc<Semaphore>,
    free: Free,
    pub(super) since: Instant,
}

/// Those that nobody uses, and since when; the one that was used last comes last.
type Free = Arc<Mutex<Vec<(AnyConnection, Instant)>>>;

impl Lines {
    /// None stands yet: each is made when it is first needed.
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

    /// A line that stands, as far as can be known.
    pub(super) async fn line(&self) -> Result<Line, sqlx::Error> {
        let line = timeout(self.patience, async {
            let permit = self.permits.clone().acquire_owned().await;
            let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
            let connection = match self.standing().await {
                Some(connection) => connection,
                None => self.connect().await?,
            };
            Ok(Line { connection, free: self.free.clone(), _permit: permit })
        });
        line.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// All that the query finds; it sees everything that was committed before.
    pub(super) async fn all(&self, query: Reading<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut line = self.line().await?;
        let rows = query.fetch_all(&mut line.connection).await?;
        line.leave();
        Ok(rows)
    }

    /// The first row of it.
    pub(super) async fn first(&self, query: Reading<'_>) -> Result<Option<AnyRow>, sqlx::Error> {
        let mut line = self.line().await?;
        let row = query.fetch_optional(&mut line.connection).await?;
        line.leave();
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

    /// A server that is being started again is waited for.
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

    async fn standing(&self) -> Option<AnyConnection> {
        loop {
            let (mut connection, since) = lock(&self.free).pop()?;
            let fresh = self.dialect == Dialect::Sqlite || since.elapsed() < IDLE;
            if fresh || connection.ping().await.is_ok() {
                return Some(connection);
            }
        }
    }
}

/// A line in use. Dropped rather than left, it is closed, and what it was in the middle of undone.
pub(super) struct Line {
    pub(super) connection: AnyConnection,
    free: Free,
    _permit: OwnedSemaphorePermit,
}

impl Line {
    /// All went well: the next one may use it.
    pub(super) fn leave(self) {
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
