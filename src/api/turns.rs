//! Large answers: so many are made at once, and held until they are written, that the rest of the
//! daemon has room. Whoever comes later waits for a turn.

use super::fault::Fault;
use crate::connections::KeptUntilWritten;
use axum::{
    Json,
    body::HttpBody,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

/// How many answers that may be large are made and written at once.
const AT_ONCE: usize = 24;
/// How long a request waits for its turn.
const LONGEST: Duration = Duration::from_secs(10);
/// An answer that is smaller is not counted once it is made.
const SMALL: u64 = 64 * 1024;

/// Who may make a large answer.
#[derive(Debug, Clone)]
pub struct LargeReplies(Arc<Semaphore>);

/// Leave to make one.
#[derive(Debug)]
pub(in crate::api) struct LargeReply {
    _permit: OwnedSemaphorePermit,
}

impl Default for LargeReplies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl LargeReplies {
    /// Waits for a turn, but not for long.
    ///
    /// # Errors
    /// 503 with a sentence.
    pub(super) async fn take(&self) -> Result<LargeReply, Fault> {
        let turn = timeout(LONGEST, self.of_stream()).await.ok().flatten();
        turn.ok_or_else(|| {
            Fault::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many large answers are being read at the moment; try again",
            )
        })
    }

    /// Waits for a turn as long as it takes; `None` never comes while the daemon runs.
    pub(in crate::api) async fn of_stream(&self) -> Option<LargeReply> {
        self.0.clone().acquire_owned().await.ok().map(|permit| LargeReply { _permit: permit })
    }
}

impl LargeReply {
    /// The answer, which has the turn until it is written, unless it is small.
    pub(super) fn held_by(self, reply: &impl Serialize) -> Response {
        let mut response = Json(reply).into_response();
        if response.body().size_hint().lower() > SMALL {
            response.extensions_mut().insert(KeptUntilWritten::new(self));
        }
        response
    }

    /// The turn, where what was made is large.
    pub(in crate::api) fn for_size(self, bytes: usize) -> Option<Self> {
        (u64::try_from(bytes).unwrap_or(u64::MAX) > SMALL).then_some(self)
    }
}
