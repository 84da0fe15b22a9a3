//! Bodies of requests have a time limit; bodies of responses keep what their reply holds.

use axum::{Error, body::Body};
use futures::{TryStreamExt, stream};
use hyper::{
    Response,
    body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint},
};
use std::{
    any::Any,
    io,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

/// The time limit for the body of a request.
const WHOLE: Duration = Duration::from_secs(30);

/// The memory for bodies of all requests that are being read, in KiB. Bodies that are sent slowly
/// cannot take more.
const ROOM: usize = 48 * 1024;
/// The most room for one body, in KiB, also for one without a length; the routes refuse larger
/// ones.
const LARGEST: u64 = 1024;
/// Bodies up to this size, in KiB, are not counted: there are no more of them than connections.
const SMALL: u64 = 16;

/// The memory for the bodies of all listeners. The service units allow 512 MiB for the process.
static ROOMS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(ROOM)));

/// Wraps the body of a request; it fails unless it arrives completely within the time limit.
pub(super) fn in_time(body: Incoming) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    // A body without a length may become as large as the limit.
    let size = body.size_hint().upper().map_or(LARGEST, |bytes| (bytes / 1024).min(LARGEST));
    let needed = u32::try_from(size).ok().filter(|_| size > SMALL);
    let until = Instant::now() + WHOLE;
    let state = (Body::new(body).into_data_stream(), None);
    Body::from_stream(stream::try_unfold(state, move |(mut chunks, mut room)| async move {
        // The memory is reserved before the first byte is read, and kept until the last one is.
        let next = async {
            if let (Some(size), None) = (needed, &room) {
                room = ROOMS.clone().acquire_many_owned(size).await.ok();
            }
            chunks.try_next().await
        };
        // The body is polled before the timer, so a complete body is never late.
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the body took too long");
        let chunk = timeout_at(until, next).await.map_err(late)?.map_err(io::Error::other)?;
        Ok::<_, io::Error>(chunk.map(|chunk| (chunk, (chunks, room))))
    }))
}

/// Wraps the body of a response that keeps something until it is written or dropped.
pub(super) fn kept(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let body = match parts.extensions.remove::<KeptUntilWritten>() {
        Some(kept) => Body::new(Written { body, _kept: kept }),
        None => body,
    };
    Response::from_parts(parts, body)
}

/// A value that a response keeps until it is written; an extension of the response.
#[derive(Clone)]
pub struct KeptUntilWritten {
    _kept: Arc<dyn Any + Send + Sync>,
}

impl KeptUntilWritten {
    /// Wraps a value.
    pub fn new(kept: impl Any + Send + Sync) -> Self {
        Self { _kept: Arc::new(kept) }
    }
}

struct Written {
    body: Body,
    _kept: KeptUntilWritten,
}

impl HttpBody for Written {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
