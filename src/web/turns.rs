//! Limits how many large replies exist at once, from their creation until they are written, so that
//! slow readers cannot use up the daemon's memory. Later requests wait for a turn.

use crate::{connections::KeptUntilWritten, error::ApiError};
use axum::{
    Json,
    body::HttpBody,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// The number of replies of unknown size that are built and written at once.
const AT_ONCE: usize = 24;
/// The longest wait of a request for its turn.
const LONGEST: Duration = Duration::from_secs(10);
/// A reply of at most this many bytes gives its turn back as soon as it is built.
const SMALL: u64 = 64 * 1024;

/// The turns of large replies. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LargeReplies(Arc<Semaphore>);

/// A turn, given back when dropped.
#[derive(Debug)]
pub(crate) struct LargeReply {
    _permit: OwnedSemaphorePermit,
}

impl Default for LargeReplies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl LargeReplies {
    /// Waits up to 10 s for a turn.
    ///
    /// # Errors
    /// 503 with a sentence.
    pub(super) async fn take(&self) -> Result<LargeReply, ApiError> {
        let turn = timeout(LONGEST, self.of_stream()).await.ok().flatten();
        turn.ok_or_else(|| {
            ApiError::unavailable("too many large answers are being read at the moment; try again")
        })
    }

    /// Waits for a turn without a timeout; the semaphore is never closed, so `None` does not occur.
    pub(crate) async fn of_stream(&self) -> Option<LargeReply> {
        self.0.clone().acquire_owned().await.ok().map(|permit| LargeReply { _permit: permit })
    }
}

impl LargeReply {
    /// Builds the reply, which keeps the turn until it is written unless it is small.
    pub(super) fn held_by(self, reply: &impl Serialize) -> Response {
        let mut response = Json(reply).into_response();
        // The body is complete, so its lower bound is its size.
        if response.body().size_hint().lower() > SMALL {
            response.extensions_mut().insert(KeptUntilWritten::new(self));
        }
        response
    }

    /// Keeps the turn only for a large reply.
    pub(crate) fn for_size(self, bytes: usize) -> Option<Self> {
        (u64::try_from(bytes).unwrap_or(u64::MAX) > SMALL).then_some(self)
    }
}
