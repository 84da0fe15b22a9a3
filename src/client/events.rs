//! The event log as the client follows it.

use crate::{transport::ClientError, transport::Transport};
use countersign_domain::wire::EventView;
use reqwest::Response;

/// The largest event, in bytes: it holds an ask with all of its arguments, some of them twice.
const LARGEST: usize = 16 << 20;

/// An event of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// What happened, such as `asked`.
    pub kind: String,
    /// The event.
    pub event: EventView,
    /// The id to resume after, once this event was read.
    pub resume: Option<i64>,
}

/// A stream of events.
#[derive(Debug)]
pub struct Events {
    transport: Transport,
    response: Response,
    /// What has come and is no whole event yet.
    rest: Vec<u8>,
    /// How much of it was searched for the end of an event: a large one comes in many parts.
    searched: usize,
}

impl Events {
    pub(crate) fn new(transport: Transport, response: Response) -> Self {
        Self { transport, response, rest: Vec::new(), searched: 0 }
    }

    /// The next event; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn next(&mut self) -> Result<Option<Happened>, ClientError> {
        loop {
            let unread = self.rest.get(self.searched..).unwrap_or_default();
            if let Some(end) = unread.windows(2).position(|two| two == b"\n\n") {
                let text: Vec<u8> = self.rest.drain(..self.searched + end + 2).collect();
                self.searched = 0;
                match read(&String::from_utf8_lossy(&text)) {
                    Ok(Some(happened)) => return Ok(Some(happened)),
                    // A comment that keeps the connection alive, or no event of the log.
                    Ok(None) => continue,
                    Err(why) => return Err(self.transport.unreadable(why)),
                }
            }
            // Its last byte may be the first half of an end.
            self.searched = self.rest.len().saturating_sub(1);
            if self.rest.len() > LARGEST {
                return Err(self.transport.unreadable("an event is too large"));
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| self.transport.lost(&error))? {
                Some(chunk) => self.rest.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

/// Reads the fields of one event; `None` for what is no event of the log.
fn read(text: &str) -> Result<Option<Happened>, serde_json::Error> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let (Some(kind), Some(data)) = (field("event:"), field("data:")) else { return Ok(None) };
    // The events of a stream that begins anew have other data.
    if matches!(kind, "ask" | "forgotten") {
        return Ok(None);
    }
    let resume = field("id:").and_then(|id| id.parse().ok());
    let event = serde_json::from_str(data)?;
    Ok(Some(Happened { kind: kind.to_owned(), event, resume }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_of_the_log_is_read_and_everything_else_of_the_stream_is_passed_over() {
        let text = "id: 7\nevent: mode\n\
                    data: {\"id\":9,\"at\":3,\"data\":{\"mode\":\"yolo\"},\"ask\":null}\n\n";
        let event = EventView { id: 9, at: 3, data: json!({"mode": "yolo"}), ask: None };
        let wanted = Happened { kind: "mode".to_owned(), event, resume: Some(7) };
        assert_eq!(read(text).unwrap(), Some(wanted));
        for other in [":\n\n", "event: ask\ndata: {}\n\n", "event: forgotten\ndata: {}\n\n"] {
            assert_eq!(read(other).unwrap(), None, "{other}");
        }
        assert!(read("event: mode\ndata: nonsense\n\n").is_err());
    }
}
