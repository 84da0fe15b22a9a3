//! Fault injection for tests of the store: commits that fail, wait or lose their outcome, and times
//! when nothing can be read. It also counts what is in progress.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::{oneshot, watch};

/// What happens to commits, one after the other, and how much work is under way. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    commits: Arc<Mutex<VecDeque<CommitFault>>>,
    unreadable: Arc<AtomicBool>,
    under_way: watch::Sender<usize>,
}

/// What happens to a commit.
#[derive(Debug)]
pub(crate) enum CommitFault {
    /// It goes well; it only stands before another in the line.
    GoesWell,
    /// Nothing of it is kept.
    Fails,
    /// It is kept, and its answer is lost on the way.
    AnswerLost,
    /// It takes until told. The first is told when it has begun.
    Slow(oneshot::Sender<()>, oneshot::Receiver<()>),
}

impl Faults {
    /// This happens to the next commit that nothing is foreseen for yet.
    pub(crate) fn next(&self, fault: CommitFault) {
        self.commits.lock().unwrap().push_back(fault);
    }

    /// The next commit takes until the second is told; the first hears when it has begun.
    pub(crate) fn next_is_slow(&self) -> (oneshot::Receiver<()>, oneshot::Sender<()>) {
        let ((begin, begun), (go, gone)) = (oneshot::channel(), oneshot::channel());
        self.next(CommitFault::Slow(begin, gone));
        (begun, go)
    }

    /// Whether all that was foreseen has happened.
    pub(crate) fn is_over(&self) -> bool {
        self.commits.lock().unwrap().is_empty()
    }

    /// Nothing can be read from now on, or everything again.
    pub(crate) fn set_unreadable(&self, unreadable: bool) {
        self.unreadable.store(unreadable, Ordering::SeqCst);
    }

    /// Reads, unless nothing can be read.
    pub(super) async fn seen_through<T, E: From<sqlx::Error>>(
        &self,
        reading: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        if self.unreadable.load(Ordering::SeqCst) {
            return Err(E::from(std::io::Error::other("the connection was lost").into()));
        }
        reading.await
    }

    /// Commits, as is foreseen.
    pub(super) async fn over<E: From<sqlx::Error>>(
        &self,
        commit: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let broken = || E::from(std::io::Error::other("the connection was lost").into());
        let fault = self.commits.lock().unwrap().pop_front();
        match fault {
            None | Some(CommitFault::GoesWell) => commit.await,
            Some(CommitFault::Fails) => Err(broken()),
            Some(CommitFault::AnswerLost) => commit.await.and(Err(broken())),
            Some(CommitFault::Slow(begun, go)) => {
                let _ = begun.send(());
                let _ = go.await;
                commit.await
            }
        }
    }

    /// Something real is under way until the result is dropped; no time may be made to pass
    /// meanwhile.
    pub(crate) fn under_way(&self) -> UnderWay {
        self.under_way.send_modify(|count| *count += 1);
        UnderWay(self.under_way.clone())
    }

    /// Waits until nothing is under way.
    pub(crate) async fn quiet(&self) {
        let mut under_way = self.under_way.subscribe();
        under_way.wait_for(|count| *count == 0).await.unwrap();
    }

    /// Whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        *self.under_way.borrow() == 0
    }
}

/// Something real that is under way.
pub(crate) struct UnderWay(watch::Sender<usize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
