//! The engine under the store: SQLite or PostgreSQL, spoken to in the same words.

use super::{
    Database, StoreError,
    identity::identify,
    lines::{Line, Lines},
    migrations, private,
    remembered::Remembered,
    soundness,
    writer::{Writer, Writing},
};
use futures::future::BoxFuture;
use sqlx::{
    Any, AnyConnection, Connection, Executor,
    any::{AnyArguments, AnyConnectOptions, AnyRow},
    query::Query,
};
use std::{
    fs::{File, TryLockError},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// A connection inside a transaction.
pub(super) type Tx = AnyConnection;
/// A query with its values.
pub(super) type Reading<'q> = Query<'q, Any, AnyArguments>;
pub(super) type Statement = Reading<'static>;
/// What is done inside a transaction.
pub(super) type Work<'c, T> = BoxFuture<'c, Result<T, StoreError>>;

/// How long the database is waited for. A line that was cut says nothing at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// For a connection.
    pub(super) patience: Duration,
    /// For one piece of work, and once more for its commit.
    pub(super) longest: Duration,
    /// For a hint, until the line that should bring it counts as dead.
    pub(super) silence: Duration,
}

/// What a daemon goes by.
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

    fn set_up(self) -> &'static str {
        match self {
            Self::Sqlite => SQLITE,
            Self::Postgres => POSTGRES,
        }
    }
}

/// The database. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Engine {
    pub(super) dialect: Dialect,
    pub(super) limits: Limits,
    /// The store's own id.
    pub(super) id: Arc<str>,
    options: AnyConnectOptions,
    lines: Arc<Mutex<Lines>>,
    file: Option<Hands>,
    #[cfg(test)]
    pub(super) weather: super::weather::Weather,
}

/// An SQLite file in good hands.
#[derive(Debug, Clone)]
struct Hands {
    /// SQLite has one writer whatever we do; ours is fair, and lets many share a commit.
    writer: Writer,
    _owned: Arc<File>,
}

impl Engine {
    /// Connects, makes an SQLite file that is not there, and brings the tables up to date.
    pub(super) async fn open(
        database: &Database,
        limits: Limits,
        known: Option<&Remembered>,
    ) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let (dialect, owned) = match database {
            Database::Sqlite(file) => {
                if let Some(known) = known {
                    known.check_file(file)?;
                }
                let owned = own(file)?;
                // Made by us, for us alone: what SQLite makes beside it has the same mode.
                private::open(file).map_err(|error| StoreError::from(sqlx::Error::Io(error)))?;
                soundness::check_log(file)?;
                (Dialect::Sqlite, Some(Arc::new(owned)))
            }
            Database::Postgres(_) => (Dialect::Postgres, None),
        };
        let options: AnyConnectOptions = database.url().parse()?;
        // A pool says only that it waited in vain; one connection says what is wrong.
        let mut first = connect(&options, dialect).await?;
        if let Some(file) = database.file() {
            soundness::check_pages(&mut first, file).await?;
        }
        if let Some(known) = known {
            known.check_tables(&mut first, database).await?;
        }
        let brought = async {
            migrations::run(&mut first, dialect).await?;
            identify(&mut first).await
        };
        let id = match dialect {
            // A large file may take its time, and no line can break.
            Dialect::Sqlite => brought.await?,
            Dialect::Postgres => {
                timeout(limits.silence, brought).await.unwrap_or(Err(StoreError::Late))?
            }
        };
        #[cfg(test)]
        let weather = super::weather::Weather::default();
        let file = match owned {
            Some(owned) => Some(Hands {
                writer: Writer::start(Writing {
                    connection: first,
                    options: options.clone(),
                    #[cfg(test)]
                    weather: weather.clone(),
                }),
                _owned: owned,
            }),
            None => {
                first.close().await?;
                None
            }
        };
        let lines = Arc::new(Mutex::new(Lines::new(&options, dialect, limits)));
        Ok(Self {
            dialect,
            limits,
            id: id.into(),
            options,
            lines,
            file,
            #[cfg(test)]
            weather,
        })
    }

    /// All that the query finds; it sees everything that was committed before.
    pub(super) async fn all(&self, query: Reading<'_>) -> Result<Vec<AnyRow>, StoreError> {
        self.read(self.lines().all(query)).await
    }

    /// The first row of it.
    pub(super) async fn first(&self, query: Reading<'_>) -> Result<Option<AnyRow>, StoreError> {
        self.read(self.lines().first(query)).await
    }

    /// Another connection, which is not one of the lines.
    #[cfg(test)]
    pub(super) async fn another(&self) -> Result<AnyConnection, sqlx::Error> {
        connect(&self.options, self.dialect).await
    }

    fn lines(&self) -> Lines {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Awaits a reading query, but not for ever.
    async fn read<T>(
        &self,
        query: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let read = timeout(self.limits.longest, query).await;
        let read = read.map_or(Err(StoreError::Late), |read| Ok(read?));
        self.replace_dead(read, began)
    }

    /// Runs work in a transaction; it is committed when this returns well, and undone otherwise.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        if let Some(file) = &self.file {
            return file.writer.write(work).await;
        }
        let (lines, began) = (self.lines(), Instant::now());
        let begun = timeout(self.limits.longest, begin(lines, work)).await;
        let (mut line, done) = self.replace_dead(begun.unwrap_or(Err(StoreError::Late)), began)?;
        let commit = say(&mut line.connection, "COMMIT");
        #[cfg(test)]
        let commit = self.weather.over(commit);
        let committed = timeout(self.limits.longest, commit).await;
        let committed = committed.map_or(Err(StoreError::Late), |committed| Ok(committed?));
        match self.replace_dead(committed, began) {
            Ok(()) => line.leave(),
            Err(error) => return Err(StoreError::Uncertain(error.to_string())),
        }
        Ok(done)
    }

    /// Closes all connections; an SQLite file's write-ahead log is folded in.
    pub(super) async fn close(&self) {
        let _ = timeout(self.limits.longest, self.lines().close()).await;
        if let Some(file) = &self.file {
            file.writer.close().await;
        }
    }

    /// What ends or silences one connection does it to all, and whoever tries another only finds
    /// that out about that one. So all are given up, unless that was done since the work began.
    fn replace_dead<T>(
        &self,
        done: Result<T, StoreError>,
        began: Instant,
    ) -> Result<T, StoreError> {
        if self.dialect == Dialect::Postgres && done.as_ref().is_err_and(StoreError::is_of_the_line)
        {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.since <= began {
                *lines = Lines::new(&self.options, self.dialect, self.limits);
            }
        }
        done
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

/// Begins a transaction and does the work in it; what fails is undone.
async fn begin<T, F>(lines: Lines, work: F) -> Result<(Line, T), StoreError>
where
    F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T>,
{
    let mut line = lines.line().await?;
    say(&mut line.connection, "BEGIN").await?;
    match work(&mut line.connection).await {
        Ok(done) => Ok((line, done)),
        Err(error) => {
            if say(&mut line.connection, "ROLLBACK").await.is_ok() {
                line.leave();
            }
            Err(error)
        }
    }
}

/// Says a word that has no values and asks for no rows.
pub(super) async fn say(
    connection: &mut AnyConnection,
    word: &'static str,
) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(word)).await.map(drop)
}

/// Makes sure that no other daemon writes this file, whatever its socket is called.
fn own(file: &Path) -> Result<File, StoreError> {
    let cannot = |error| StoreError::from(sqlx::Error::Io(error));
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
