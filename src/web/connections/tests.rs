#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
//! Tests of connections in virtual time.

use super::*;
use axum::{
    body::Bytes,
    routing::{get, post},
};
use futures::stream;
use std::io;
use tokio::{
    io::{AsyncReadExt, DuplexStream},
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

/// A listener of the connections that a test makes.
struct Doors(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for Doors {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(io) => (io, ()),
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Peered for DuplexStream {
    fn peer(&self) -> Peer {
        Peer::Process(Some(1))
    }
}

struct TestServer {
    doors: mpsc::UnboundedSender<DuplexStream>,
    drain: CancellationToken,
}

impl TestServer {
    fn start(connections: usize) -> Self {
        let router = Router::new()
            .route("/now", get(|| async { "now" }))
            .route("/held", get(|| async { sleep(Duration::from_secs(60)).await }))
            .route(
                "/sent",
                post(|body: Result<Bytes, _>| async move {
                    body.map_or_else(
                        |error: axum::extract::rejection::BytesRejection| error.body_text(),
                        |body| body.len().to_string(),
                    )
                }),
            )
            .route(
                "/quiet",
                get(|| async {
                    let later = stream::once(async {
                        sleep(Duration::from_secs(600)).await;
                        Ok::<_, io::Error>("later")
                    });
                    Body::from_stream(later)
                }),
            )
            .route(
                "/much",
                get(|| async {
                    Body::from_stream(stream::repeat_with(|| {
                        Ok::<_, io::Error>("much ".repeat(2_000))
                    }))
                }),
            );
        let (doors, listener) = mpsc::unbounded_channel();
        let drain = CancellationToken::new();
        let limits = ConnectionLimits { connections, per_peer: connections };
        tokio::spawn(serve(Doors(listener), router, limits, drain.clone()));
        Self { doors, drain }
    }

    fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(4096);
        self.doors.send(far).unwrap();
        near
    }
}

async fn say(io: &mut DuplexStream, words: &str) {
    io.write_all(words.as_bytes()).await.unwrap();
}

/// Reads until the connection ends; returns the text and the time that it took.
async fn until_end(io: &mut DuplexStream) -> (String, Duration) {
    let began = Instant::now();
    let mut heard = Vec::new();
    let end = timeout(Duration::from_secs(3600), io.read_to_end(&mut heard)).await;
    assert!(end.is_ok(), "it never ends");
    (String::from_utf8_lossy(&heard).into_owned(), began.elapsed())
}

const GET: &str = "GET /now HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn a_connection_that_sends_no_whole_head_ends_after_half_a_minute() {
    let server = TestServer::start(9);
    for head in ["", "GET /now HT", "GET /now HTTP/1.1\r\nhost: x\r\n"] {
        let mut io = server.connect();
        say(&mut io, head).await;
        let (_, took) = until_end(&mut io).await;
        assert!((HEAD..HEAD * 2).contains(&took), "{head:?}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_comes_letter_by_letter_has_no_more_time() {
    let server = TestServer::start(9);
    let mut io = server.connect();
    let began = Instant::now();
    let slowly = async {
        loop {
            sleep(Duration::from_secs(1)).await;
            if io.write_all(b"x").await.is_err() {
                return;
            }
        }
    };
    assert!(timeout(HEAD * 2, slowly).await.is_ok(), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_ends_after_half_a_minute_and_serves_until_then() {
    let server = TestServer::start(9);
    let mut io = server.connect();
    for _ in 0..3 {
        say(&mut io, GET).await;
        sleep(HEAD / 2).await;
    }
    let (heard, took) = until_end(&mut io).await;
    assert_eq!(heard.matches("200 OK").count(), 3, "{heard}");
    assert!(took <= HEAD, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_held_request_and_a_quiet_stream_are_not_cut() {
    let server = TestServer::start(9);
    for (path, takes, words) in [("held", 60, "200 OK"), ("quiet", 600, "later")] {
        let mut io = server.connect();
        say(&mut io, &format!("GET /{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
            .await;
        let (heard, took) = until_end(&mut io).await;
        assert!(heard.contains(words), "{heard}");
        assert!(took >= Duration::from_secs(takes), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_dropped_and_one_that_reads_slowly_is_not() {
    let server = TestServer::start(9);
    let ask = "GET /much HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut slow = server.connect();
    let mut none = server.connect();
    say(&mut none, ask).await;
    say(&mut slow, ask).await;
    let mut some = [0; 1000];
    for _ in 0..20 {
        sleep(Duration::from_secs(20)).await;
        slow.read_exact(&mut some).await.unwrap();
    }
    let (heard, took) = until_end(&mut none).await;
    assert!(heard.len() <= 4096 && took < Duration::from_secs(1), "{} {took:?}", heard.len());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_whole_in_time_is_an_error_and_never_a_shorter_body() {
    let server = TestServer::start(9);
    for head in ["content-length: 9", "transfer-encoding: chunked"] {
        let mut io = server.connect();
        say(&mut io, &format!("POST /sent HTTP/1.1\r\nhost: x\r\n{head}\r\n\r\n3\r\nabc\r\n"))
            .await;
        let (heard, took) = until_end(&mut io).await;
        assert!(heard.is_empty() || heard.contains("took too long"), "{heard}");
        assert!(took < Duration::from_secs(70), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_displaces_the_oldest_that_has_shown_nothing() {
    let server = TestServer::start(2);
    let mut first = server.connect();
    let mut second = server.connect();
    say(&mut second, GET).await;
    sleep(Duration::from_millis(1)).await;
    let mut third = server.connect();
    say(&mut third, GET).await;
    assert_eq!(until_end(&mut first).await, (String::new(), Duration::ZERO));
    sleep(Duration::from_secs(1)).await;
    for io in [&mut second, &mut third] {
        let mut heard = [0; 12];
        io.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"HTTP/1.1 200");
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_lets_what_is_under_way_end() {
    let server = TestServer::start(9);
    let mut held = server.connect();
    let mut idle = server.connect();
    say(&mut held, "GET /held HTTP/1.1\r\nhost: x\r\n\r\n").await;
    sleep(Duration::from_secs(1)).await;
    server.drain.cancel();
    assert!(until_end(&mut idle).await.1 < Duration::from_secs(1));
    assert!(until_end(&mut held).await.0.contains("200 OK"));
}

#[test]
fn an_address_counts_with_all_that_its_peer_can_choose() {
    let same = [
        ("127.0.0.1", "127.9.9.9"),
        ("::1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8:0:0:ffff::2"),
    ];
    for (one, other) in same {
        assert_eq!(network(one.parse().unwrap()), network(other.parse().unwrap()), "{one} {other}");
    }
    for (one, other) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8:0:1::1")] {
        assert_ne!(network(one.parse().unwrap()), network(other.parse().unwrap()), "{one} {other}");
    }
}

fn peer(last: u8) -> Peer {
    Peer::Address(IpAddr::from([10, 0, 0, last]))
}

fn places(connections: usize, per_peer: usize) -> Arc<Places> {
    let limits = ConnectionLimits { connections, per_peer };
    Arc::new(Places { limits, taken: Mutex::default() })
}

fn ended(connections: &[&Connection]) -> Vec<bool> {
    connections.iter().map(|connection| connection.makes_way.is_cancelled()).collect()
}

#[test]
fn the_oldest_without_a_token_makes_way_and_nobody_with_one() {
    let places = places(3, 3);
    let known = places.take(peer(1)).unwrap();
    let first = places.take(peer(2)).unwrap();
    let second = places.take(peer(3)).unwrap();
    known.mark_proven();
    let third = places.take(peer(4)).unwrap();
    assert_eq!(ended(&[&known, &first, &second, &third]), [false, true, false, false]);
    second.mark_proven();
    third.mark_proven();
    assert!(places.take(peer(5)).is_none());
    drop(second);
    assert!(places.take(peer(5)).is_some());
    assert_eq!(ended(&[&known, &third]), [false, false]);
}

#[test]
fn a_peer_that_has_its_share_displaces_its_own_connections_only() {
    let places = places(10, 2);
    let other = places.take(peer(1)).unwrap();
    let mine = places.take(peer(2)).unwrap();
    mine.mark_proven();
    let next = places.take(peer(2)).unwrap();
    let again = places.take(peer(2)).unwrap();
    assert_eq!(ended(&[&other, &mine, &next, &again]), [false, false, true, false]);
}

#[test]
fn a_connection_that_ends_frees_its_place_also_after_it_made_way() {
    let places = places(1, 1);
    let first = places.take(peer(1)).unwrap();
    let second = places.take(peer(1)).unwrap();
    drop(first);
    assert_eq!(locked(&places.taken).peers.values().sum::<usize>(), 1);
    drop(second);
    assert!(locked(&places.taken).peers.is_empty() && locked(&places.taken).newcomers.is_empty());
}

#[test]
fn connections_leave_files_to_the_store_and_the_chats() {
    let wanted = ConnectionLimits { connections: 1000, per_peer: 750 };
    assert_eq!(fitting(wanted, 2200), wanted);
    assert_eq!(fitting(wanted, 1024), ConnectionLimits { connections: 412, per_peer: 412 });
    assert_eq!(fitting(wanted, 64), ConnectionLimits { connections: 8, per_peer: 8 });
}
