//! The single writer of an SQLite file. Changes that arrive together share a transaction and its
//! fsync.
//!
//! INVARIANT: a caller is notified of success only after the commit that holds its change.
//! INVARIANT: work that fails is rolled back alone; the rest of its transaction is committed.

#[cfg(any(test, debug_assertions))]
use super::testkit::faults::Faults;
use super::{
    StoreError,
    engine::{SqlDialect, Tx, Work, connect, execute},
    sealing::LogRows,
};
use futures::future::BoxFuture;
use sqlx::any::AnyConnectOptions;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// The largest number of jobs in one commit: no job waits for more others than this.
const BATCH: usize = 64;
/// The largest number of jobs in the queue; senders wait beyond it.
const QUEUE: usize = 4096;

/// The queue before the writer. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    line: mpsc::Sender<WriterCommand>,
}

enum WriterCommand {
    Work(Job),
    Close(oneshot::Sender<()>),
}

/// One piece of work, and the channel on which its caller is notified.
struct Job {
    run: Run,
    tell: Tell,
}

type Run = Box<dyn for<'c> FnOnce(&'c mut Tx) -> BoxFuture<'c, CommitOutcome> + Send>;
type Tell = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

enum CommitOutcome {
    Keep,
    /// Roll back, with the database's error if it caused this.
    Undo(Option<Arc<sqlx::Error>>),
}

/// The connection that writes, and the options to replace it.
pub(super) struct Writing {
    pub(super) connection: Tx,
    pub(super) rows: Arc<LogRows>,
    pub(super) options: AnyConnectOptions,
    #[cfg(any(test, debug_assertions))]
    pub(super) faults: Faults,
}

impl Writer {
    /// Starts a writer on this connection.
    pub(super) fn start(writing: Writing) -> Self {
        let (line, commands) = mpsc::channel(QUEUE);
        tokio::spawn(serve(writing, commands));
        Self { line }
    }

    /// Runs work in a transaction, which is committed if the work returns `Ok` and rolled back
    /// otherwise.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Tx) -> Work<'c, T> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        // The result waits here for the commit: jobs of different types share one queue, so the
        // queue knows only how each ended.
        let done = Arc::new(Mutex::new(None));
        let result = done.clone();
        let job = Job {
            run: Box::new(move |tx| {
                Box::pin(async move {
                    let worked = work(tx).await;
                    let outcome = match &worked {
                        Ok(_) => CommitOutcome::Keep,
                        Err(StoreError::Sql(error)) => CommitOutcome::Undo(Some(error.clone())),
                        Err(_) => CommitOutcome::Undo(None),
                    };
                    *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(worked);
                    outcome
                })
            }),
            tell: Box::new(move |committed| {
                let worked = result.lock().unwrap_or_else(PoisonError::into_inner).take();
                // The work's own error comes first: the commit of its neighbours says nothing about
                // it.
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

    /// Ends after the queued jobs, and SQLite copies its write-ahead log into the file.
    pub(super) async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if self.line.send(WriterCommand::Close(closed)).await.is_ok() {
            let _ = done.await;
        }
    }
}

async fn serve(mut writing: Writing, mut commands: mpsc::Receiver<WriterCommand>) {
    let mut line = Vec::with_capacity(BATCH);
    // Takes what has queued up during the last commit. So a batch forms only while the writer is
    // busy, and a single change waits for no other.
    while commands.recv_many(&mut line, BATCH).await > 0 {
        let mut jobs = Vec::with_capacity(line.len());
        let mut closing = Vec::new();
        for command in line.drain(..) {
            match command {
                WriterCommand::Work(job) => jobs.push(job),
                WriterCommand::Close(closed) => closing.push(closed),
            }
        }
        // Work queued behind a `Close` in the same batch is still done.
        if !jobs.is_empty() && !writing.commit_together(jobs).await {
            writing.recover().await;
        }
        if !closing.is_empty() {
            let _ = writing.connection.close().await;
            return;
        }
    }
}

impl Writing {
    /// Runs the jobs in one transaction and notifies every caller; returns whether the connection
    /// is sound.
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
        // Collected before any statement can fail, so that every caller is notified of a failure
        // too.
        told.extend(tells);
        // Without a savepoint, so that a job that fails ends in a rollback and costs no commit.
        if alone {
            // `IMMEDIATE` takes the write lock at once; a deferred transaction could fail in its
            // middle, at its first write.
            self.execute("BEGIN IMMEDIATE").await?;
            for run in runs {
                if let CommitOutcome::Undo(_) = run(&mut self.connection).await {
                    self.connection.was_undone();
                    return self.execute("ROLLBACK").await;
                }
            }
            self.commit("COMMIT").await?;
            self.connection.was_committed();
            return Ok(());
        }
        // Each statement costs a round trip to the connection's thread, so two are sent as one.
        let mut next = "BEGIN IMMEDIATE; SAVEPOINT job";
        let mut written = Vec::new();
        for run in runs {
            self.execute(next).await?;
            next = "RELEASE job; SAVEPOINT job";
            if let CommitOutcome::Undo(why) = run(&mut self.connection).await {
                // Some failures, such as a full disk, roll the whole transaction back. Then this
                // statement fails, and the earlier jobs must not be committed or reported as if
                // they still were in it.
                self.connection.was_undone();
                let undone = self.execute("ROLLBACK TO job").await;
                undone.map_err(|error| why.unwrap_or(error))?;
            }
            written.extend(self.connection.take_written());
        }
        self.commit("RELEASE job; COMMIT").await?;
        self.rows.committed(&written);
        Ok(())
    }

    async fn commit(&mut self, word: &'static str) -> Result<(), Arc<sqlx::Error>> {
        #[cfg(any(test, debug_assertions))]
        let faults = self.faults.clone();
        let commit = self.execute(word);
        #[cfg(any(test, debug_assertions))]
        let commit = faults.over(commit);
        commit.await
    }

    async fn execute(&mut self, statement: &'static str) -> Result<(), Arc<sqlx::Error>> {
        execute(&mut self.connection, statement).await.map_err(Arc::new)
    }

    /// Recovers after a failed commit: rolls back, and replaces a broken connection.
    async fn recover(&mut self) {
        // Whether its rows were committed is not certain, so they are neither missed nor foreign.
        let _ = self.connection.take_written();
        let _ = self.execute("ROLLBACK").await;
        // A missing file is not created again: it would be an empty store.
        let mut options = self.options.clone();
        options.database_url.set_query(Some("mode=rw"));
        if let Ok(new) = connect(&options, SqlDialect::Sqlite).await {
            let new = Tx::new(new, SqlDialect::Sqlite, self.rows.clone());
            let _ = std::mem::replace(&mut self.connection, new).close().await;
        }
    }
}
