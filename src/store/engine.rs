//! The engine under the store: SQLite or PostgreSQL, with the same SQL for both; its connections,
//! and where the two differ.
#[cfg(any(test, debug_assertions))]
use super::testkit::faults::Faults;
use super::{
    Database, Remembered, StoreError, database, private, schema,
    sealing::LogRows,
    writer::{Writer, Writing},
};
use countersign_domain::log::{ProvenRow, SigningKey};
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use sqlx::{
    Any, AnyConnection, Connection, Executor, Row,
    any::{AnyArguments, AnyConnectOptions, AnyRow},
    query::Query,
};
use std::{
    fmt,
    fs::{File, TryLockError},
    ops::{Deref, DerefMut},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

/// A connected database. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) dialect: SqlDialect,
    pub(super) limits: ConnectionTimeouts,
    /// The store's id.
    pub(super) id: Arc<str>,
    options: AnyConnectOptions,
    /// The rows of the log that this daemon writes.
    pub(super) rows: Arc<LogRows>,
    pool: Arc<Mutex<ConnectionPool>>,
    file: Option<OwnedFile>,
    #[cfg(any(test, debug_assertions))]
    pub(super) faults: Faults,
}

/// An SQLite file that this daemon owns.
#[derive(Debug, Clone)]
struct OwnedFile {
    /// Our own queue before SQLite's single writer: it is fair, and lets many changes share a
    /// commit.
    writer: Writer,
    // The lock on the file lasts as long as this handle.
    _owned: Arc<File>,
}

impl Engine {
    /// Connects, creates a missing SQLite file, and brings the tables up to date.
    pub(super) async fn open(
        database: &Database,
        limits: ConnectionTimeouts,
        known: Option<&Remembered>,
    ) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let (dialect, owned) = match database {
            Database::Sqlite(file) => {
                // The order matters: the marker is checked before anything is created, the lock is
                // taken before the file is touched, and the write-ahead log is checked before
                // SQLite opens it, because opening it discards the frames that do not verify.
                if let Some(known) = known {
                    known.check_file(file)?;
                }
                let owned = own(file)?;
                // Created here for the owner alone: SQLite gives the files beside it the same mode.
                private::open(file).map_err(|error| StoreError::from(sqlx::Error::Io(error)))?;
                database::check_log(file)?;
                (SqlDialect::Sqlite, Some(Arc::new(owned)))
            }
            Database::Postgres(_) => (SqlDialect::Postgres, None),
        };
        let options: AnyConnectOptions = database.url().parse()?;
        // One connection of our own first: a pool only reports that it timed out, a connection
        // reports why.
        let mut first = connect(&options, dialect).await?;
        if let Some(file) = database.file() {
            database::check_pages(&mut first, file).await?;
        }
        if let Some(known) = known {
            known.check_tables(&mut first, database).await?;
        }
        let brought = async {
            schema::run(&mut first, dialect).await?;
            database::identify(&mut first).await
        };
        let id = match dialect {
            // No timeout: migrating a large file may take long, and a file has no connection to
            // lose.
            SqlDialect::Sqlite => brought.await?,
            SqlDialect::Postgres => {
                timeout(limits.silence, brought).await.unwrap_or(Err(StoreError::Late))?
            }
        };
        let id: Arc<str> = id.into();
        // A key of its own until the daemon's is read, which comes before it writes a row.
        let own = SigningKey::generate().ok().and_then(|key| SigningKey::read(&key));
        let own = own.ok_or_else(|| StoreError::LogKey {
            file: database.file().unwrap_or(Path::new("")).to_owned(),
            why: "the system has no randomness".to_owned(),
        })?;
        let rows = Arc::new(LogRows::new(id.clone(), own));
        #[cfg(any(test, debug_assertions))]
        let faults = Faults::default();
        let file = match owned {
            Some(owned) => Some(OwnedFile {
                writer: Writer::start(Writing {
                    connection: Tx::new(first, dialect, rows.clone()),
                    rows: rows.clone(),
                    options: options.clone(),
                    #[cfg(any(test, debug_assertions))]
                    faults: faults.clone(),
                }),
                _owned: owned,
            }),
            None => {
                first.close().await?;
                None
            }
        };
        let pool = ConnectionPool::new(&options, dialect, limits, &rows);
        let pool = Arc::new(Mutex::new(pool));
        Ok(Self {
            dialect,
            limits,
            id,
            options,
            rows,
            pool,
            file,
            #[cfg(any(test, debug_assertions))]
            faults,
        })
    }

    /// All rows of the query, within the timeouts; it sees everything that was committed before.
    pub(super) async fn all(&self, query: ReadQuery<'_>) -> Result<Vec<AnyRow>, StoreError> {
        let began = Instant::now();
        let read = timeout(self.limits.longest, self.pool().all(query)).await;
        let read = read.map_or(Err(StoreError::Late), |read| Ok(read?));
        self.replace_dead(read, began)
    }

    /// A further connection outside the pool.
    #[cfg(test)]
    pub(super) async fn another(&self) -> Result<sqlx::AnyConnection, sqlx::Error> {
        connect(&self.options, self.dialect).await
    }

    fn pool(&self) -> ConnectionPool {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs work in a transaction, which is committed if the work returns `Ok` and rolled back
    /// otherwise.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        if let Some(file) = &self.file {
            return file.writer.write(work).await;
        }
        let pool = self.pool();
        let began = Instant::now();
        let begun = timeout(self.limits.longest, begin(pool, work)).await;
        let (mut pooled, done) =
            self.replace_dead(begun.unwrap_or(Err(StoreError::Late)), began)?;
        // A commit whose reply is lost may have happened. The error says so, and the connection is
        // dropped instead of returned.
        let commit = execute(&mut pooled.connection, "COMMIT");
        #[cfg(any(test, debug_assertions))]
        let commit = self.faults.over(commit);
        let committed = timeout(self.limits.longest, commit).await;
        let committed = committed.map_or(Err(StoreError::Late), |committed| Ok(committed?));
        match self.replace_dead(committed, began) {
            Ok(()) => {
                pooled.connection.was_committed();
                pooled.give_back();
            }
            Err(error) => return Err(StoreError::Uncertain(error.to_string())),
        }
        Ok(done)
    }

    /// Closes all connections; SQLite copies its write-ahead log into the file.
    pub(super) async fn close(&self) {
        let _ = timeout(self.limits.longest, self.pool().close()).await;
        if let Some(file) = &self.file {
            file.writer.close().await;
        }
    }

    /// Replaces the whole pool after a dead connection. What ends or silences one connection
    /// usually does so to all, and each other one would cost its user another timeout. A pool that
    /// is newer than the failed work is kept: somebody has replaced it already.
    fn replace_dead<T>(
        &self,
        done: Result<T, StoreError>,
        began: Instant,
    ) -> Result<T, StoreError> {
        if self.dialect == SqlDialect::Postgres
            && done.as_ref().is_err_and(StoreError::is_of_the_connection)
        {
            let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
            if pool.since <= began {
                *pool = ConnectionPool::new(&self.options, self.dialect, self.limits, &self.rows);
            }
        }
        done
    }
}

/// Begins a transaction and runs the work in it; rolls back if the work fails.
async fn begin<T, F>(pool: ConnectionPool, work: F) -> Result<(PooledConnection, T), StoreError>
where
    F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T>,
{
    let mut pooled = pool.acquire().await?;
    execute(&mut pooled.connection, "BEGIN").await?;
    match work(&mut pooled.connection).await {
        Ok(done) => Ok((pooled, done)),
        Err(error) => {
            pooled.connection.was_undone();
            // A connection that cannot roll back is dropped, which closes it and ends its
            // transaction.
            if execute(&mut pooled.connection, "ROLLBACK").await.is_ok() {
                pooled.give_back();
            }
            Err(error)
        }
    }
}

/// Locks the file against other daemons, whatever their sockets are called.
pub(super) fn own(file: &Path) -> Result<File, StoreError> {
    let cannot = |error| StoreError::from(sqlx::Error::Io(error));
    // A file beside it, because SQLite uses locks on the database file itself.
    let lock = private::open(&private::beside(file, ".lock")).map_err(cannot)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
        Err(TryLockError::WouldBlock) => Err(StoreError::NotOurs(format!(
            "another countersign has {} open; stop that one, or set [store] url to another file",
            file.display()
        ))),
    }
}

/// A connection for transactions, which proves the rows of the log that are written on it.
pub(super) struct Tx {
    pub(super) dialect: SqlDialect,
    connection: AnyConnection,
    rows: Arc<LogRows>,
    /// The numbers of those in the transaction.
    written: Vec<i64>,
}

impl Tx {
    pub(super) fn new(connection: AnyConnection, dialect: SqlDialect, rows: Arc<LogRows>) -> Self {
        Self { dialect, connection, rows, written: Vec::new() }
    }

    /// The proof of a row of the log that is written next.
    pub(super) fn prove(&mut self, row: &ProvenRow<'_>) -> String {
        let (number, proof) = self.rows.prove(row);
        self.written.push(number);
        proof
    }

    /// Runs a statement; how many rows it changed.
    pub(super) async fn run(&mut self, statement: ReadQuery<'_>) -> Result<u64, StoreError> {
        Ok(statement.execute(&mut self.connection).await?.rows_affected())
    }

    /// Runs statements one after the other.
    pub(super) async fn run_all(&mut self, statements: Vec<Statement>) -> Result<(), StoreError> {
        for statement in statements {
            self.run(statement).await?;
        }
        Ok(())
    }

    /// All rows of a query.
    pub(super) async fn all(&mut self, query: ReadQuery<'_>) -> Result<Vec<AnyRow>, StoreError> {
        Ok(query.fetch_all(&mut self.connection).await?)
    }

    /// The first row of a query.
    pub(super) async fn maybe(
        &mut self,
        query: ReadQuery<'_>,
    ) -> Result<Option<AnyRow>, StoreError> {
        Ok(query.fetch_optional(&mut self.connection).await?)
    }

    /// The first row of a query that always returns one.
    pub(super) async fn one(&mut self, query: ReadQuery<'_>) -> Result<AnyRow, StoreError> {
        Ok(query.fetch_one(&mut self.connection).await?)
    }

    /// The number that a query counts.
    pub(super) async fn count(&mut self, query: ReadQuery<'_>) -> Result<i64, StoreError> {
        Ok(self.one(query).await?.try_get(0)?)
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

    /// Locks a row that is read, until the transaction ends, so that nobody changes it. SQLite has
    /// one writer at a time, which is lock enough.
    pub(super) fn for_share(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR SHARE",
        }
    }

    /// The same, so that nobody else reads it with a lock either.
    pub(super) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
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

/// Connections to a server; more would only wait for each other there.
const TO_A_SERVER: u32 = 8;
/// Connections to a file: the second works while the first runs a long read.
const TO_A_FILE: u32 = 2;
/// A connection used within this time is assumed to be alive, and is not pinged.
const IDLE: Duration = Duration::from_secs(1);
/// The pause between two attempts to reach a server that restarts.
const AGAIN: Duration = Duration::from_millis(50);

/// The connections made since one moment: to a server, or to an SQLite file for reads. Cheap to
/// clone.
///
/// We keep our own pool, because sqlx pings each connection after use, which costs as much as the
/// use did, and other pools reuse a connection that was dropped in the middle of a transaction.
/// Here a connection is returned only after success.
#[derive(Debug, Clone)]
struct ConnectionPool {
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
    async fn acquire(&self) -> Result<PooledConnection, sqlx::Error> {
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

    async fn all(&self, query: ReadQuery<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut pooled = self.acquire().await?;
        let rows = query.fetch_all(&mut *pooled.connection).await?;
        pooled.give_back();
        Ok(rows)
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
                done => return Ok(Tx::new(done?, self.dialect, self.rows.clone())),
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
struct PooledConnection {
    pub(super) connection: Tx,
    free: Free,
    _permit: OwnedSemaphorePermit,
}

impl PooledConnection {
    /// Returns the connection to the pool after success.
    fn give_back(self) {
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

/// Parses a column of JSON.
pub(super) fn from_json<T: DeserializeOwned>(
    row: &AnyRow,
    column: &'static str,
) -> Result<T, StoreError> {
    let json = row.try_get(column)?;
    serde_json::from_str(json).map_err(|error| StoreError::Unreadable { column, error })
}

/// The same where it may be NULL.
pub(super) fn from_json_or_null<T: DeserializeOwned>(
    row: &AnyRow,
    column: &'static str,
) -> Result<Option<T>, StoreError> {
    let json: Option<&str> = row.try_get(column)?;
    json.map(|_| from_json(row, column)).transpose()
}

/// Serializes a value for its column.
pub(super) fn to_json<T: serde::Serialize>(
    column: &'static str,
    value: &T,
) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unreadable { column, error })
}

/// Places for so many values in SQL, from `$first` on.
pub(super) fn places(first: usize, count: usize) -> String {
    (first..first + count).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ")
}
