//! The one writer of an SQLite file. What comes at once shares a transaction and its fsync.
//!
//! INVARIANT: a caller hears of success only after the commit that holds its change.
//! INVARIANT: work that fails is undone alone; its neighbours in the same transaction stand.

use super::{
    StoreError,
    engine::{Dialect, Tx, Work, connect},
};
use futures::future::BoxFuture;
use sqlx::{AnyConnection, Connection, Executor, any::AnyConnectOptions};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// The most that shares one commit: nobody waits for more work than this.
const BATCH: usize = 64;
/// The most that waits in line.
const QUEUE: usize = 4096;

/// The line before the writer. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    line: mpsc::Sender<Errand>,
}

enum Errand {
    Work(Job),
    Close(oneshot::Sender<()>),
}

/// One piece of work, and how its caller hears what became of it.
struct Job {
    run: Run,
    tell: Tell,
}

type Run = Box<dyn for<'c> FnOnce(&'c mut Tx) -> BoxFuture<'c, Outcome> + Send>;
type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

enum Outcome {
    Keep,
    /// Nothing of it may stay; what the database said, where it was the database.
    Undo(Option<Arc<sqlx::Error>>),
}

impl Writer {
    /// Starts writing over this connection.
    pub(super) fn start(connection: AnyConnection, options: AnyConnectOptions) -> Self {
        let (line, errands) = mpsc::channel(QUEUE);
        tokio::spawn(serve(connection, options, errands));
        Self { line }
    }

    /// Runs work in a transaction; it is committed when this returns well, and undone otherwise.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let done = Arc::new(Mutex::new(None));
        let result = done.clone();
        let job = Job {
            run: Box::new(move |tx| {
                Box::pin(async move {
                    let worked = work(tx).await;
                    let outcome = match &worked {
                        Ok(_) => Outcome::Keep,
                        Err(StoreError::Sql(error)) => Outcome::Undo(Some(error.clone())),
                        Err(_) => Outcome::Undo(None),
                    };
                    *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(worked);
                    outcome
                })
            }),
            tell: Box::new(move |committed| {
                let worked = result.lock().unwrap_or_else(PoisonError::into_inner).take();
                let _ = tell.send(match (worked, committed) {
                    (Some(Err(error)), _) | (_, Err(error)) => Err(error),
                    (Some(Ok(done)), Ok(())) => Ok(done),
                    (None, Ok(())) => Err(StoreError::Closed),
                });
            }),
        };
        self.line.send(Errand::Work(job)).await.map_err(|_| StoreError::Closed)?;
        told.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends after what is in line, and folds the write-ahead log in.
    pub(super) async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if self.line.send(Errand::Close(closed)).await.is_ok() {
            let _ = done.await;
        }
    }
}

async fn serve(
    mut connection: AnyConnection,
    options: AnyConnectOptions,
    mut errands: mpsc::Receiver<Errand>,
) {
    let mut line = Vec::with_capacity(BATCH);
    while errands.recv_many(&mut line, BATCH).await > 0 {
        let mut jobs = Vec::with_capacity(line.len());
        let mut closing = Vec::new();
        for errand in line.drain(..) {
            match errand {
                Errand::Work(job) => jobs.push(job),
                Errand::Close(closed) => closing.push(closed),
            }
        }
        if !jobs.is_empty() && !commit_together(&mut connection, jobs).await {
            mend(&mut connection, &options).await;
        }
        if !closing.is_empty() {
            let _ = connection.close().await;
            return;
        }
    }
}

/// Runs the jobs in one transaction and tells every caller; whether the connection is sound.
async fn commit_together(connection: &mut AnyConnection, jobs: Vec<Job>) -> bool {
    let mut tell = Vec::with_capacity(jobs.len());
    let committed = try_together(connection, jobs, &mut tell).await;
    let sound = committed.is_ok();
    for tell in tell {
        tell(committed.clone().map_err(StoreError::Sql));
    }
    sound
}

async fn try_together(
    connection: &mut AnyConnection,
    jobs: Vec<Job>,
    told: &mut Vec<Tell>,
) -> Result<(), Arc<sqlx::Error>> {
    let alone = jobs.len() == 1;
    let (runs, tells): (Vec<_>, Vec<_>) =
        jobs.into_iter().map(|Job { run, tell }| (run, tell)).unzip();
    told.extend(tells);
    if alone {
        say(connection, "BEGIN IMMEDIATE").await?;
        for run in runs {
            if let Outcome::Undo(_) = run(connection).await {
                return say(connection, "ROLLBACK").await;
            }
        }
        return say(connection, "COMMIT").await;
    }
    // Whatever is said costs a journey to the connection's thread and back: two words in one.
    let mut next = "BEGIN IMMEDIATE; SAVEPOINT job";
    for run in runs {
        say(connection, next).await?;
        next = "RELEASE job; SAVEPOINT job";
        if let Outcome::Undo(why) = run(connection).await {
            // Some failures, such as a full disk, undo the whole transaction; then this fails, and
            // nothing more may be written as if it still stood.
            let undone = say(connection, "ROLLBACK TO job").await;
            undone.map_err(|error| why.unwrap_or(error))?;
        }
    }
    say(connection, "RELEASE job; COMMIT").await
}

async fn say(connection: &mut AnyConnection, word: &'static str) -> Result<(), Arc<sqlx::Error>> {
    connection.execute(sqlx::raw_sql(word)).await.map(drop).map_err(Arc::new)
}

/// After a failed commit: nothing of it may linger, and a broken connection is replaced.
async fn mend(connection: &mut AnyConnection, options: &AnyConnectOptions) {
    let _ = connection.execute("ROLLBACK").await;
    // A file that is gone is not made anew: it would be an empty store.
    let mut options = options.clone();
    options.database_url.set_query(Some("mode=rw"));
    if let Ok(new) = connect(&options, Dialect::Sqlite).await {
        let _ = std::mem::replace(connection, new).close().await;
    }
}
