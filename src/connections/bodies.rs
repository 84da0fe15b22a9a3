//! Bodies: what is sent has to come in time; what is written keeps its request under way.

use super::table::UnderWay;
use axum::{Error, body::Body};
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Sleep, sleep};

/// How long the body of a request may take.
const WHOLE: Duration = Duration::from_secs(30);

/// The body of a request; it fails where it does not come whole in time.
pub(super) fn in_time(body: Incoming) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    Body::new(InTime { body: Body::new(body), late: Box::pin(sleep(WHOLE)) })
}

/// The body of a response; its request is under way until it is written or given up.
pub(super) fn under_way(body: Body, under_way: UnderWay) -> Body {
    Body::new(Written { body, _under_way: under_way })
}

struct InTime {
    body: Body,
    late: Pin<Box<Sleep>>,
}

struct Written {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for InTime {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
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
