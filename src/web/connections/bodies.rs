//! Bodies of requests have a time limit; bodies of responses keep what their reply holds.

use axum::{Error, body::Body};
use hyper::{
    Response,
    body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint},
};
use std::{
    any::Any,
    io,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Sleep, sleep},
};
use tokio_util::sync::PollSemaphore;

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
pub(super) fn room() -> PollSemaphore {
    static ROOMS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(ROOM)));
    PollSemaphore::new(ROOMS.clone())
}

/// Wraps the body of a request; it fails unless it arrives completely within the time limit.
pub(super) fn in_time(body: Incoming) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    // A body without a length may become as large as the limit.
    let size = body.size_hint().upper().map_or(LARGEST, |bytes| (bytes / 1024).min(LARGEST));
    let room = match u32::try_from(size).unwrap_or(u32::MAX) {
        size if u64::from(size) <= SMALL => BodyRoom::Taken { _permit: None },
        size => BodyRoom::Needed(size, room()),
    };
    Body::new(InTime { body: Body::new(body), late: Box::pin(sleep(WHOLE)), room })
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

struct InTime {
    body: Body,
    late: Pin<Box<Sleep>>,
    room: BodyRoom,
}

/// The memory for a body, reserved before its first byte is read.
enum BodyRoom {
    Needed(u32, PollSemaphore),
    Taken { _permit: Option<OwnedSemaphorePermit> },
}

struct Written {
    body: Body,
    _kept: KeptUntilWritten,
}

impl InTime {
    fn poll_with_room(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let BodyRoom::Needed(size, room) = &mut self.room {
            self.room = BodyRoom::Taken { _permit: ready!(room.poll_acquire_many(context, *size)) };
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

impl HttpBody for InTime {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = self.poll_with_room(context);
        // The timer is polled only if the body is pending, so a complete body is never late.
        if frame.is_ready() || self.late.as_mut().poll(context).is_pending() {
            return frame;
        }
        let late = io::Error::new(io::ErrorKind::TimedOut, "the body took too long");
        Poll::Ready(Some(Err(Error::new(late))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
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
