//! The store's weather in tests: commits that fail, wait or lose their outcome, times when nothing
//! can be read; and when it is quiet.
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
pub(crate) struct Weather {
    fates: Arc<Mutex<VecDeque<Fate>>>,
    fog: Arc<AtomicBool>,
    under_way: watch::Sender<usize>,
}

/// What happens to a commit.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It goes well; it only stands before another in the line.
    GoesWell,
    /// Nothing of it is kept.
    Fails,
    /// It is kept, and its answer is lost on the way.
    AnswerLost,
    /// It takes until told. The first is told when it has begun.
    Slow(oneshot::Sender<()>, oneshot::Receiver<()>),
}

impl Weather {
    /// This happens to the next commit that nothing is foreseen for yet.
    pub(crate) fn next(&self, fate: Fate) {
        self.fates.lock().unwrap().push_back(fate);
    }

    /// The next commit takes until the second is told; the first hears when it has begun.
    pub(crate) fn next_is_slow(&self) -> (oneshot::Receiver<()>, oneshot::Sender<()>) {
        let ((begin, begun), (go, gone)) = (oneshot::channel(), oneshot::channel());
        self.next(Fate::Slow(begin, gone));
        (begun, go)
    }

    /// Whether all that was foreseen has happened.
    pub(crate) fn is_over(&self) -> bool {
        self.fates.lock().unwrap().is_empty()
    }

    /// Nothing can be read from now on, or everything again.
    pub(crate) fn set_fog(&self, fog: bool) {
        self.fog.store(fog, Ordering::SeqCst);
    }

    /// Reads, unless nothing can be read.
    pub(super) async fn seen_through<T, E: From<sqlx::Error>>(
        &self,
        reading: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        if self.fog.load(Ordering::SeqCst) {
            return Err(E::from(std::io::Error::other("the line broke").into()));
        }
        reading.await
    }

    /// Commits, as is foreseen.
    pub(super) async fn over<E: From<sqlx::Error>>(
        &self,
        commit: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let broken = || E::from(std::io::Error::other("the line broke").into());
        let fate = self.fates.lock().unwrap().pop_front();
        match fate {
            None | Some(Fate::GoesWell) => commit.await,
            Some(Fate::Fails) => Err(broken()),
            Some(Fate::AnswerLost) => commit.await.and(Err(broken())),
            Some(Fate::Slow(begun, go)) => {
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
