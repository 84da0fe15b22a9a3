//! A call that is submitted before an async runtime is there: what policy decides at once costs one
//! exchange on the daemon's socket, and nothing else.

use crate::{
    decided::Submitted,
    session,
    settings::{ClientSettings, Server},
};
use countersign_domain::{
    call::Call,
    wire::{CallReply, SubmitRequest},
};
use serde_json::Value;
use socket2::{Domain, SockAddr, Socket, Type};
use std::{
    io::{ErrorKind, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    time::{Duration, Instant},
};
use tokio::{io::AsyncReadExt, time::timeout};

/// The timeout for a connection, and for the daemon to take the call.
const SEND: Duration = Duration::from_millis(300);

/// The timeout of the reply. The daemon holds a call for a second.
const REPLY: Duration = Duration::from_secs(11);

/// The largest reply, in bytes.
const LARGEST: usize = 16 << 20;

/// A call that a daemon has received, and whose reply is on its way.
#[derive(Debug)]
pub struct EarlySubmission {
    stream: UnixStream,
    received: Vec<u8>,
}

/// How much of a reply there is.
enum Received {
    /// More has to come.
    Part,
    /// All of it.
    Whole(Submitted),
    /// All of it, and it decides nothing.
    Useless,
}

impl EarlySubmission {
    /// Submits a call over the first daemon's socket as its waiting caller. `None` if that daemon
    /// has no socket or does not take the call; [`crate::Client::submit`] tells why.
    #[must_use]
    pub fn send(settings: &ClientSettings, call: &Call) -> Option<Self> {
        let Some(Server::Unix(path)) = settings.url.first() else { return None };
        let session_secret = session::secret(&call.agent, &call.session);
        let body = SubmitRequest { call: call.clone(), session_secret };
        let body = serde_json::to_vec(&body).ok()?;
        let head = format!(
            "POST /v1/calls?wait=1 HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).ok()?;
        // Set first: a connect waits for as long as the daemon's backlog is full.
        socket.set_write_timeout(Some(SEND)).ok()?;
        socket.connect(&SockAddr::unix(path).ok()?).ok()?;
        let mut stream = UnixStream::from(OwnedFd::from(socket));
        stream.write_all(&[head.into_bytes(), body].concat()).ok()?;
        Some(Self { stream, received: Vec::new() })
    }

    /// Blocks for the daemon's reply, up to this time; `None` if there is none that decides.
    #[must_use]
    pub fn replied_within(&mut self, longest: Duration, call: &Call) -> Option<Submitted> {
        let until = Instant::now() + longest;
        let mut chunk = [0; 4096];
        loop {
            match self.reply(call) {
                Received::Whole(submitted) => return Some(submitted),
                Received::Useless => return None,
                Received::Part => {}
            }
            let left = until.checked_duration_since(Instant::now()).filter(|it| !it.is_zero())?;
            self.stream.set_read_timeout(Some(left)).ok()?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(count) => self.received.extend(chunk.iter().take(count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits for the daemon's reply; `None` if there is none that can be used, so that the call has
    /// to be submitted again under its key.
    pub async fn replied(self, call: &Call) -> Option<Submitted> {
        let Self { stream, received } = self;
        let kept = stream.try_clone().ok()?;
        stream.set_nonblocking(true).ok()?;
        let mut incoming = tokio::net::UnixStream::from_std(stream).ok()?;
        let mut so_far = Self { stream: kept, received };
        let whole = async {
            loop {
                match so_far.reply(call) {
                    Received::Whole(submitted) => return Some(submitted),
                    Received::Useless => return None,
                    Received::Part => {}
                }
                if incoming.read_buf(&mut so_far.received).await.ok()? == 0 {
                    return None;
                }
            }
        };
        timeout(REPLY, whole).await.ok()?
    }

    /// Reads what has come so far.
    // FAIL-CLOSED: only a whole reply that is a success and reads as one counts.
    fn reply(&self, call: &Call) -> Received {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let head = match response.parse(&self.received) {
            Ok(httparse::Status::Complete(head)) => head,
            Ok(httparse::Status::Partial) if self.received.len() < LARGEST => {
                return Received::Part;
            }
            Ok(httparse::Status::Partial) | Err(_) => return Received::Useless,
        };
        if !matches!(response.code, Some(200..=299)) {
            return Received::Useless;
        }
        let mut lengths = response
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("content-length"))
            .map(|header| std::str::from_utf8(header.value).ok()?.trim().parse::<usize>().ok());
        let (Some(Some(length)), None) = (lengths.next(), lengths.next()) else {
            return Received::Useless;
        };
        let body = self.received.get(head..).unwrap_or_default();
        if length > LARGEST || body.len() > length {
            return Received::Useless;
        }
        if body.len() < length {
            return Received::Part;
        }
        let reply = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
        let reply = reply.and_then(|reply| serde_json::from_value::<CallReply>(reply).ok());
        match reply.map(|reply| Submitted::read(reply, call)) {
            Some(Ok(submitted)) => Received::Whole(submitted),
            Some(Err(_)) | None => Received::Useless,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::Decided;
    use countersign_domain::Decision;
    use serde_json::json;
    use std::{os::unix::net::UnixListener, thread};

    fn call() -> Call {
        Call { key: Some("k".into()), ..Call::new("a", "s", "Bash", json!({"command": "ls"})) }
    }

    /// What a call becomes at a daemon that writes this and leaves.
    fn at_once(reply: &'static str) -> Option<Submitted> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let daemon = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            stream.write_all(reply.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        let url = vec![Server::Unix(path)];
        let settings = ClientSettings { url, token: None, insecure_http: false, ca_file: None };
        let mut early = EarlySubmission::send(&settings, &call()).unwrap();
        let submitted = early.replied_within(Duration::from_secs(10), &call());
        let request = daemon.join().unwrap();
        assert!(request.starts_with("POST /v1/calls?wait=1 HTTP/1.1\r\n"), "{request}");
        submitted
    }

    #[test]
    fn a_call_that_is_decided_at_once_needs_no_runtime() {
        let reply = "HTTP/1.1 200 OK\r\ncontent-length: 37\r\n\r\n\
                     {\"verdict\":\"allow\",\"reason\":\"a rule\"}";
        let Some(Submitted::Decided(decided)) = at_once(reply) else { panic!("not decided") };
        let Decided { decision, reason, .. } = *decided;
        assert_eq!((decision, reason.as_str()), (Decision::Approve, "a rule"));
    }

    #[test]
    fn no_reply_that_is_cut_or_odd_decides() {
        let allow = "{\"verdict\":\"allow\",\"reason\":\"a rule\"}";
        for head in [
            "HTTP/1.1 200 OK\r\ncontent-length: 38\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 36\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n25\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 37\r\ncontent-length: 1\r\n\r\n",
            "HTTP/1.1 503 No\r\ncontent-length: 37\r\n\r\n",
            "HTTP/1.1 302 No\r\ncontent-length: 37\r\n\r\n",
            "HTTP/9 200 OK\r\ncontent-length: 37\r\n\r\n",
            "",
        ] {
            let reply: &'static str = format!("{head}{allow}").leak();
            assert_eq!(at_once(reply), None, "{head}");
        }
        let array = "HTTP/1.1 200 OK\r\ncontent-length: 18\r\n\r\n[\"allow\",\"a rule\"]";
        assert_eq!(at_once(array), None);
        let open = "HTTP/1.1 202 OK\r\ncontent-length: 43\r\n\r\n\
                    {\"verdict\":\"ask\",\"ask\":\"a1\",\"state\":\"open\"}";
        assert_eq!(at_once(open), Some(Submitted::Ask("a1".into())));
    }
}
