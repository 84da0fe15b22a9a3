//! The one writer of an SQLite file. What comes at once shares a transaction and its fsync.
//!
//! INVARIANT: a caller hears of success only after the commit that holds its change.
//! INVARIANT: work that fails is undone alone; its neighbours in the same transaction stand.

#[cfg(test)]
use super::fault_injection::Faults;
use super::{
    StoreError,
    connection::{Dialect, Tx, Work, connect, execute},
};
use futures::future::BoxFuture;
use sqlx::{AnyConnection, Connection, any::AnyConnectOptions};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// The most that shares one commit: nobody waits for more work than this.
const BATCH: usize = 64;
/// The most that waits in line.
const QUEUE: usize = 4096;

/// The line before the writer. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    line: mpsc::Sender<WriterCommand>,
}

enum WriterCommand {
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

/// The connection that writes, and how to make another.
pub(super) struct Writing {
    pub(super) connection: AnyConnection,
    pub(super) options: AnyConnectOptions,
    #[cfg(test)]
    pub(super) faults: Faults,
}

impl Writer {
    /// Starts writing over this connection.
    pub(super) fn start(writing: Writing) -> Self {
        let (line, commands) = mpsc::channel(QUEUE);
        tokio::spawn(serve(writing, commands));
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
        self.line.send(WriterCommand::Work(job)).await.map_err(|_| StoreError::Closed)?;
        told.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends after what is in line, and folds the write-ahead log in.
    pub(super) async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if self.line.send(WriterCommand::Close(closed)).await.is_ok() {
            let _ = done.await;
        }
    }
}

async fn serve(mut writing: Writing, mut commands: mpsc::Receiver<WriterCommand>) {
    let mut line = Vec::with_capacity(BATCH);
    while commands.recv_many(&mut line, BATCH).await > 0 {
        let mut jobs = Vec::with_capacity(line.len());
        let mut closing = Vec::new();
        for command in line.drain(..) {
            match command {
                WriterCommand::Work(job) => jobs.push(job),
                WriterCommand::Close(closed) => closing.push(closed),
            }
        }
        if !jobs.is_empty() && !writing.commit_together(jobs).await {
            writing.mend().await;
        }
        if !closing.is_empty() {
            let _ = writing.connection.close().await;
            return;
        }
    }
}

impl Writing {
    /// Runs the jobs in one transaction and tells every caller; whether the connection is sound.
    async fn commit_together(&mut self, jobs: Vec<Job>) -> bool {
        let mut tell = Vec::with_capacity(jobs.len());
        let committed = self.try_together(jobs, &mut tell).await;
        let sound = committed.is_ok();
        for tell in tell {
            tell(committed.clone().map_err(StoreError::Sql));
        }
        sound
    }

    async fn try_together(
        &mut self,
        jobs: Vec<Job>,
        told: &mut Vec<Tell>,
    ) -> Result<(), Arc<sqlx::Error>> {
        let alone = jobs.len() == 1;
        let (runs, tells): (Vec<_>, Vec<_>) =
            jobs.into_iter().map(|Job { run, tell }| (run, tell)).unzip();
        told.extend(tells);
        if alone {
            self.execute("BEGIN IMMEDIATE").await?;
            for run in runs {
                if let Outcome::Undo(_) = run(&mut self.connection).await {
                    return self.execute("ROLLBACK").await;
                }
            }
            return self.commit("COMMIT").await;
        }
        // Each statement costs a round trip to the connection's thread: send two in one.
        let mut next = "BEGIN IMMEDIATE; SAVEPOINT job";
        for run in runs {
            self.execute(next).await?;
            next = "RELEASE job; SAVEPOINT job";
            if let Outcome::Undo(why) = run(&mut self.connection).await {
                // Some failures, such as a full disk, undo the whole transaction; then this fails,
                // and nothing more may be written as if it still stood.
                let undone = self.execute("ROLLBACK TO job").await;
                undone.map_err(|error| why.unwrap_or(error))?;
            }
        }
        self.commit("RELEASE job; COMMIT").await
    }

    async fn commit(&mut self, word: &'static str) -> Result<(), Arc<sqlx::Error>> {
        #[cfg(test)]
        let faults = self.faults.clone();
        let commit = self.execute(word);
        #[cfg(test)]
        let commit = faults.over(commit);
        commit.await
    }

    async fn execute(&mut self, statement: &'static str) -> Result<(), Arc<sqlx::Error>> {
        execute(&mut self.connection, statement).await.map_err(Arc::new)
    }

    /// After a failed commit: nothing of it may linger, and a broken connection is replaced.
    async fn mend(&mut self) {
        let _ = self.execute("ROLLBACK").await;
        // A file that is gone is not made anew: it would be an empty store.
        let mut options = self.options.clone();
        options.database_url.set_query(Some("mode=rw"));
        if let Ok(new) = connect(&options, Dialect::Sqlite).await {
            let _ = std::mem::replace(&mut self.connection, new).close().await;
        }
    }
}
