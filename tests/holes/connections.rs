//! Row 17: connections and names that somebody opens or makes up in numbers stop nobody.

use crate::daemon::{AGENT, APPROVER, Daemon, shell};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixStream},
    time::{sleep, timeout},
};

/// More than such a daemon holds at either listener.
const FLOOD: usize = 600;
const LIMITS: &str = "[limits]\nconnections = 400\nconnections_per_peer = 300\n";
const SOON: Duration = Duration::from_secs(5);

fn port(daemon: &Daemon) -> &str {
    daemon.url.strip_prefix("http://").unwrap()
}

async fn tcp(daemon: &Daemon) -> TcpStream {
    TcpStream::connect(port(daemon)).await.unwrap()
}

async fn unix(daemon: &Daemon) -> UnixStream {
    UnixStream::connect(daemon.dir.path().join("countersign.sock")).await.unwrap()
}

/// Sends a request and reads the head of its answer and what comes with it.
async fn request<I>(io: &mut I, head: &str, token: Option<&str>, body: &str) -> Option<String>
where
    I: AsyncReadExt + AsyncWriteExt + Unpin,
{
    let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    let text =
        format!("{head} HTTP/1.1\r\nhost: x\r\n{token}content-length: {length}\r\n\r\n{body}");
    io.write_all(text.as_bytes()).await.ok()?;
    let mut heard = vec![0; 64 * 1024];
    let read = timeout(SOON, io.read(&mut heard)).await.ok()?.ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&heard[..read]).into_owned())
}

/// A caller of its own, on a connection of its own.
async fn asks(daemon: &Daemon, command: &str) -> (u16, Value) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/v1/calls", daemon.url);
    let sent = http.post(url).bearer_auth(AGENT).json(&shell(command)).send();
    let reply = timeout(SOON, sent).await.expect("an answer in time").unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap())
}

#[tokio::test]
async fn row_17_silent_and_half_requests_stop_no_new_ask_on_any_surface() {
    let daemon = Daemon::start(LIMITS).await;
    let mut held = Vec::new();
    for n in 0..FLOOD {
        let mut io = tcp(&daemon).await;
        let words =
            ["", "GET /v1/asks HT", "POST /v1/calls HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"];
        let _ = io.write_all(words[n % 3].as_bytes()).await;
        held.push(io);
    }
    let (status, said) = asks(&daemon, "git push origin main").await;
    assert_eq!((status, &said["verdict"]), (202, &json!("ask")), "{said}");
    let mut quiet = Vec::new();
    for _ in 0..FLOOD {
        quiet.push(unix(&daemon).await);
    }
    let heard = request(&mut unix(&daemon).await, "GET /v1/asks", None, "").await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    assert_eq!(asks(&daemon, "git push origin next").await.0, 202);
    assert_eq!(daemon.get("/healthz", AGENT).await.0, 200);
}

#[tokio::test]
async fn row_17_who_has_shown_a_token_is_not_displaced_by_who_has_not() {
    let daemon = Daemon::start(LIMITS).await;
    let mut idle = tcp(&daemon).await;
    assert!(request(&mut idle, "GET /v1/asks", Some(AGENT), "").await.unwrap().contains("200 OK"));
    let waiting = daemon.waiting(shell("git push origin main"));
    let mut stream = tcp(&daemon).await;
    let events = request(&mut stream, "GET /v1/events", Some(AGENT), "").await.unwrap();
    assert!(events.contains("text/event-stream"), "{events}");
    while daemon.open().await.is_empty() {
        sleep(Duration::from_millis(20)).await;
    }
    let mut held = Vec::new();
    for n in 0..FLOOD {
        let mut io = tcp(&daemon).await;
        let wrong = (n % 2 == 0).then_some("a-token-that-somebody-made-up");
        if n % 20 < 2 {
            let refused = request(&mut io, "GET /v1/asks?wait=9", wrong, "").await;
            assert!(refused.is_none_or(|said| said.starts_with("HTTP/1.1 401")));
        }
        held.push(io);
    }
    let heard = request(&mut idle, "GET /v1/asks", Some(AGENT), "").await;
    assert!(heard.is_some_and(|heard| heard.contains("200 OK")), "the idle one was displaced");
    let ask = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    daemon.answer(&ask, &json!({"decision": "approve"})).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    let mut heard = String::new();
    while !heard.contains("answered") {
        let mut some = vec![0; 4096];
        let read =
            timeout(SOON, stream.read(&mut some)).await.expect("the stream goes on").unwrap();
        assert!(read > 0, "the stream was cut: {heard}");
        heard += &String::from_utf8_lossy(&some[..read]);
    }
}

#[tokio::test]
async fn row_17_a_peer_that_uses_its_share_leaves_the_socket_and_says_so() {
    let daemon = Daemon::start("[limits]\nconnections = 20\nconnections_per_peer = 8\n").await;
    let ask = {
        let mut socket = unix(&daemon).await;
        let body = shell("git push origin main").to_string();
        request(&mut socket, "POST /v1/calls", None, &body).await.unwrap()
    };
    assert!(ask.contains("202"), "{ask}");
    let mut held = Vec::new();
    for _ in 0..8 {
        let mut io = tcp(&daemon).await;
        let heard = request(&mut io, "GET /v1/events", Some(AGENT), "").await.unwrap();
        assert!(heard.contains("200 OK"), "{heard}");
        held.push(io);
    }
    let mut more = tcp(&daemon).await;
    let mut said = String::new();
    more.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 503") && said.contains("connections_per_peer"), "{said}");
    let heard = request(&mut unix(&daemon).await, "GET /v1/asks", None, "").await.unwrap();
    assert!(heard.contains("200 OK"), "{heard}");
    drop(held.pop());
    let again = async {
        loop {
            let heard = request(&mut tcp(&daemon).await, "GET /v1/asks", Some(APPROVER), "").await;
            if heard.is_some_and(|heard| heard.contains("200 OK")) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, again).await.expect("a place that is free is given again");
}

#[tokio::test]
async fn row_17_invented_workers_lock_no_worker_out() {
    let config = "[policy]\nprofile = \"molf\"\n[limits]\nopen_asks_per_session = 2000\n\
                  asks_per_minute_per_agent = 9999\nasks_per_minute_per_session = 9999\n";
    let daemon = Daemon::start(config).await;
    let call = |worker: &str| {
        json!({"agent": "molf", "session": "s", "worker": worker, "tool": "shell_exec",
            "args": {"command": "python x.py"}})
    };
    assert_eq!(daemon.call(&call("honest")).await.0, 202);
    let invent = |n: usize| {
        let (daemon, call) = (&daemon, call(&format!("made-up-{n}")));
        async move { daemon.call(&call).await.0 }
    };
    for first in (0..1040).step_by(8) {
        let all = futures::future::join_all((first..first + 8).map(invent)).await;
        assert!(all.iter().all(|status| *status == 202), "{all:?}");
    }
    for worker in ["honest", "another", "one-more"] {
        assert_eq!(daemon.call(&call(worker)).await.0, 202, "{worker}");
    }
    let folders = std::fs::read_dir(daemon.dir.path().join("workers")).unwrap().count();
    assert!(folders <= 1001, "{folders}");
}
