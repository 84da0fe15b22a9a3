//! The engine under the store: SQLite or PostgreSQL, with the same SQL for both.

#[cfg(any(test, feature = "testkit"))]
use super::fault_injection::Faults;
use super::{
    Database, StoreError,
    connection::{ConnectionTimeouts, ReadQuery, SqlDialect, Tx, Work, connect, execute},
    connection_pool::{ConnectionPool, PooledConnection},
    identity::identify,
    integrity,
    log_rows::LogRows,
    migrations, private,
    remembered::Remembered,
    writer::{Writer, Writing},
};
use countersign_domain::log::SigningKey;
use sqlx::{
    Connection,
    any::{AnyConnectOptions, AnyRow},
};
use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::time::{Instant, timeout};

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
    #[cfg(any(test, feature = "testkit"))]
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
                integrity::check_log(file)?;
                (SqlDialect::Sqlite, Some(Arc::new(owned)))
            }
            Database::Postgres(_) => (SqlDialect::Postgres, None),
        };
        let options: AnyConnectOptions = database.url().parse()?;
        // One connection of our own first: a pool only reports that it timed out, a connection
        // reports why.
        let mut first = connect(&options, dialect).await?;
        if let Some(file) = database.file() {
            integrity::check_pages(&mut first, file).await?;
        }
        if let Some(known) = known {
            known.check_tables(&mut first, database).await?;
        }
        let brought = async {
            migrations::run(&mut first, dialect).await?;
            identify(&mut first).await
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
        #[cfg(any(test, feature = "testkit"))]
        let faults = Faults::default();
        let file = match owned {
            Some(owned) => Some(OwnedFile {
                writer: Writer::start(Writing {
                    connection: Tx::new(first, rows.clone()),
                    rows: rows.clone(),
                    options: options.clone(),
                    #[cfg(any(test, feature = "testkit"))]
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
            #[cfg(any(test, feature = "testkit"))]
            faults,
        })
    }

    /// All rows of the query; it sees everything that was committed before.
    pub(super) async fn all(&self, query: ReadQuery<'_>) -> Result<Vec<AnyRow>, StoreError> {
        self.read(self.pool().all(query)).await
    }

    /// The first row of the query.
    pub(super) async fn first(&self, query: ReadQuery<'_>) -> Result<Option<AnyRow>, StoreError> {
        self.read(self.pool().first(query)).await
    }

    /// A further connection outside the pool.
    #[cfg(test)]
    pub(super) async fn another(&self) -> Result<sqlx::AnyConnection, sqlx::Error> {
        connect(&self.options, self.dialect).await
    }

    fn pool(&self) -> ConnectionPool {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a read within the timeouts.
    async fn read<T>(
        &self,
        query: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let read = timeout(self.limits.longest, query).await;
        let read = read.map_or(Err(StoreError::Late), |read| Ok(read?));
        self.replace_dead(read, began)
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
        let (pool, began) = (self.pool(), Instant::now());
        let begun = timeout(self.limits.longest, begin(pool, work)).await;
        let (mut pooled, done) =
            self.replace_dead(begun.unwrap_or(Err(StoreError::Late)), began)?;
        // A commit whose reply is lost may have happened. The error says so, and the connection is
        // dropped instead of returned.
        let commit = execute(&mut pooled.connection, "COMMIT");
        #[cfg(any(test, feature = "testkit"))]
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
