#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
//! A person's answer and the agent's own, in every order that the daemon and this program can see.

use super::*;
use countersign_client::{ClientSettings, Server};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

const WHY: CancelReason = CancelReason::AnsweredElsewhere;

/// A daemon that replies when the test says so.
struct Scripted {
    listener: UnixListener,
    folder: tempfile::TempDir,
}

/// A request that waits for its reply.
struct Received {
    stream: UnixStream,
    line: String,
    body: Value,
}

impl Scripted {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { listener: UnixListener::bind(folder.path().join("s")).unwrap(), folder }
    }

    /// The calls of a program at this daemon, with one that was just submitted.
    fn calls(&self) -> OpenCalls {
        let url = vec![Server::Unix(self.folder.path().join("s"))];
        let settings = ClientSettings { url, token: None, insecure_http: false, ca_file: None };
        let client = Client::new(&settings, Duration::from_secs(10)).unwrap();
        let mut calls = OpenCalls::new(client, WithoutDaemon::Fails);
        let call = Call::new("acp", "s1", "shell_exec", json!({"command": "make deploy"}));
        calls.open("k".into(), Call { key: Some("k".into()), ..call });
        calls
    }

    async fn received(&self) -> Received {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut text = String::new();
        loop {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            text.push_str(std::str::from_utf8(bytes.get(..count).unwrap()).unwrap());
            let line = text.lines().next().unwrap_or_default().to_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            if head.starts_with("GET ") {
                return Received { stream, line, body: Value::Null };
            }
            if let Ok(body) = serde_json::from_str(body) {
                return Received { stream, line, body };
            }
        }
    }

    /// The daemon is told that the answer to the ask came too late.
    async fn is_told(&self) {
        let told = self.received().await;
        assert_eq!(told.line, "POST /v1/asks/a1/cancel HTTP/1.1");
        assert_eq!(told.body, json!({"reason": "answered_elsewhere"}));
        told.replies(&json!({})).await;
    }
}

impl Received {
    async fn replies(mut self, body: &Value) {
        let body = body.to_string();
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length:";
        let reply = format!("{head} {length}\r\n\r\n{body}");
        self.stream.write_all(reply.as_bytes()).await.unwrap();
    }
}

/// The ask, which a person approved.
fn approved() -> Value {
    let by = json!({"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"});
    let answer = json!({"decision": "approve", "at": "2026-11-21T00:00:00Z", "by": by});
    json!({"verdict": "allow", "reason": "approved by Ana", "ask": "a1", "state": "answered",
        "answer": answer})
}

/// Runs the calls until the daemon has been told; no news of the call may reach the agent.
async fn tells(daemon: &Scripted, calls: &mut OpenCalls) {
    tokio::select! {
        () = daemon.is_told() => {}
        news = calls.next() => match news {
            CallNews::Opened(key, _) | CallNews::Decided(key, _) => panic!("news of {key}"),
        },
    }
}

#[tokio::test]
async fn a_press_that_wins_while_the_call_is_submitted_is_told_to_have_come_too_late() {
    let daemon = Scripted::new();
    let mut calls = daemon.calls();
    let submission = daemon.received().await;
    assert!(submission.line.starts_with("POST /v1/calls"), "{}", submission.line);
    calls.take_back("k", WHY);
    submission.replies(&approved()).await;
    tells(&daemon, &mut calls).await;
}

#[tokio::test]
async fn an_ask_that_opens_while_the_call_is_taken_back_is_cancelled() {
    let daemon = Scripted::new();
    let mut calls = daemon.calls();
    let submission = daemon.received().await;
    calls.take_back("k", WHY);
    let open = json!({"verdict": "ask", "ask": "a1", "state": "open"});
    submission.replies(&open).await;
    tells(&daemon, &mut calls).await;
}

#[tokio::test]
async fn a_press_that_is_here_but_not_taken_in_is_told_to_have_come_too_late() {
    let daemon = Scripted::new();
    let mut calls = daemon.calls();
    daemon.received().await.replies(&approved()).await;
    // The task has ended with the decision, and its news waits.
    calls.back.get_mut("k").unwrap().closed().await;
    calls.take_back("k", WHY);
    tells(&daemon, &mut calls).await;
}

#[tokio::test]
async fn a_press_that_is_here_when_the_program_leaves_is_told_to_have_come_too_late() {
    let daemon = Scripted::new();
    let mut calls = daemon.calls();
    daemon.received().await.replies(&approved()).await;
    calls.back.get_mut("k").unwrap().closed().await;
    calls.take_back("k", WHY);
    let leaving = calls.leave("acp", "s1");
    let told = async {
        daemon.is_told().await;
        let ended = daemon.received().await;
        assert_eq!(ended.line, "POST /v1/sessions/s1/end HTTP/1.1");
        ended.replies(&json!({})).await;
    };
    tokio::join!(leaving, told);
}

#[tokio::test]
async fn a_press_that_the_agent_was_given_and_did_not_take_is_told_to_have_come_too_late() {
    let daemon = Scripted::new();
    let mut calls = daemon.calls();
    daemon.received().await.replies(&approved()).await;
    let CallNews::Decided(key, decided) = calls.next().await else { panic!("not decided") };
    let ask = decided.unwrap().ask;
    assert_eq!((key.as_str(), ask.as_deref()), ("k", Some("a1")));
    calls.take_back("k", WHY);
    tells(&daemon, &mut calls).await;
    calls.finish(Instant::now() + BACK).await;
    calls.take_back("k", WHY);
    assert!(calls.waiting.is_empty(), "it is told once");
}

#[tokio::test]
async fn a_press_that_comes_with_the_agent_s_own_answer_is_told_to_have_come_too_late() {
    let daemon = Scripted::new();
    let mut calls = daemon.calls();
    let open = json!({"verdict": "ask", "ask": "a1", "state": "open"});
    daemon.received().await.replies(&open).await;
    let opened = calls.next().await;
    assert!(matches!(opened, CallNews::Opened(key, ask) if (&*key, &*ask) == ("k", "a1")));
    let waiting = daemon.received().await;
    assert!(waiting.line.starts_with("GET /v1/asks/a1?"), "{}", waiting.line);
    // Both are there before the task runs again, and the agent's own goes first.
    calls.take_back("k", WHY);
    waiting.replies(&approved()).await;
    tells(&daemon, &mut calls).await;
}
