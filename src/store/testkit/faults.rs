//! Fault injection for tests of the store: commits that fail, wait or lose their reply, and times
//! when nothing can be read. It also counts the operations in progress.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::{oneshot, watch};

/// The faults of the next commits, in order, and the number of operations in progress. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    commits: Arc<Mutex<VecDeque<CommitFault>>>,
    unreadable: Arc<AtomicBool>,
    under_way: watch::Sender<usize>,
}

/// The fault of one commit.
#[derive(Debug)]
pub enum CommitFault {
    /// None: it takes a place in the order.
    GoesWell,
    /// Nothing is stored.
    Fails,
    /// It is stored, and its reply is lost.
    AnswerLost,
    /// It is stored, and nothing can be read after it.
    ThenUnreadable,
    /// It waits for the second channel. The first is notified when it has begun.
    Slow(oneshot::Sender<()>, oneshot::Receiver<()>),
}

impl Faults {
    /// Adds the fault of the next commit that has none yet.
    pub fn next(&self, fault: CommitFault) {
        self.commits.lock().unwrap().push_back(fault);
    }

    /// The next commit waits for the second channel; the first is notified when it has begun.
    pub fn next_is_slow(&self) -> (oneshot::Receiver<()>, oneshot::Sender<()>) {
        let ((begin, begun), (go, gone)) = (oneshot::channel(), oneshot::channel());
        self.next(CommitFault::Slow(begin, gone));
        (begun, go)
    }

    /// Returns whether every planned fault has happened.
    pub fn is_over(&self) -> bool {
        self.commits.lock().unwrap().is_empty()
    }

    /// Makes every read fail from now on, or succeed again.
    pub fn set_unreadable(&self, unreadable: bool) {
        self.unreadable.store(unreadable, Ordering::SeqCst);
    }

    /// Runs a read, unless reads fail.
    pub(crate) async fn seen_through<T, E: From<sqlx::Error>>(
        &self,
        reading: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        if self.unreadable.load(Ordering::SeqCst) {
            return Err(E::from(std::io::Error::other("the connection was lost").into()));
        }
        reading.await
    }

    /// Runs a commit with its planned fault.
    pub(crate) async fn over<E: From<sqlx::Error>>(
        &self,
        commit: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let broken = || E::from(std::io::Error::other("the connection was lost").into());
        let fault = self.commits.lock().unwrap().pop_front();
        match fault {
            None | Some(CommitFault::GoesWell) => commit.await,
            Some(CommitFault::Fails) => Err(broken()),
            Some(CommitFault::AnswerLost) => commit.await.and(Err(broken())),
            Some(CommitFault::ThenUnreadable) => {
                commit.await?;
                self.set_unreadable(true);
                Ok(())
            }
            Some(CommitFault::Slow(begun, go)) => {
                let _ = begun.send(());
                let _ = go.await;
                commit.await
            }
        }
    }

    /// Counts a real operation until the result is dropped. Virtual time must not advance
    /// meanwhile: the operation would time out although it takes no time.
    pub fn under_way(&self) -> RunningFault {
        self.under_way.send_modify(|count| *count += 1);
        RunningFault(self.under_way.clone())
    }

    /// Waits until no operation is in progress.
    pub async fn quiet(&self) {
        let mut under_way = self.under_way.subscribe();
        under_way.wait_for(|count| *count == 0).await.unwrap();
    }

    /// Returns whether no operation is in progress.
    pub fn is_quiet(&self) -> bool {
        *self.under_way.borrow() == 0
    }
}

/// A real operation in progress.
pub struct RunningFault(watch::Sender<usize>);

impl Drop for RunningFault {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
