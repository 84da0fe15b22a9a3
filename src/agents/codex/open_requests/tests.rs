#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::codex::frame::{CodexFrame, read};
use countersign_client::{ClientSettings, Server};
use serde_json::json;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

/// A request as the app-server sends it, with this id and of this item.
fn asked(id: u64, item: &str) -> ServerRequest {
    in_thread("t", id, item, "item/commandExecution/requestApproval")
}

fn in_thread(thread: &str, id: u64, item: &str, method: &str) -> ServerRequest {
    let params = json!({"kind": "command", "threadId": thread, "turnId": "u", "itemId": item,
        "command": "/bin/bash -lc 'make deploy'", "cwd": "/home/ana/shop"});
    let frame = json!({"id": id, "params": params, "method": method});
    match read(&frame.to_string()) {
        CodexFrame::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

/// A daemon where a person has denied every call already.
struct Denying {
    listener: UnixListener,
    folder: tempfile::TempDir,
}

impl Denying {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { listener: UnixListener::bind(folder.path().join("s")).unwrap(), folder }
    }

    fn requests(&self) -> OpenRequests {
        let url = vec![Server::Unix(self.folder.path().join("s"))];
        let settings = ClientSettings { url, token: None, insecure_http: false, ca_file: None };
        let client = Client::new(&settings, Duration::from_secs(10)).unwrap();
        OpenRequests::new(client, None)
    }

    /// The next request, as its first line and its body.
    async fn next(&self) -> (UnixStream, String, Value) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut text = String::new();
        loop {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).await.unwrap();
            text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body);
            if let Some(Ok(body)) = body.map(serde_json::from_str) {
                return (stream, text.lines().next().unwrap().to_owned(), body);
            }
        }
    }

    /// Takes a call and says that a person denied it.
    async fn denies(&self) {
        let (mut stream, line, _) = self.next().await;
        assert_eq!(line, "POST /v1/calls HTTP/1.1");
        let by = json!({"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"});
        let answer = json!({"decision": "deny", "at": "2026-11-21T00:00:00Z", "by": by});
        let reply = json!({"verdict": "deny", "reason": "denied by Ana", "ask": "a1",
            "state": "answered", "answer": answer})
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        stream.write_all(&[head.as_bytes(), reply.as_bytes()].concat()).await.unwrap();
    }
}

#[tokio::test]
async fn a_decision_that_comes_with_the_terminal_s_answer_is_dropped_and_said_to_be_too_late() {
    let daemon = Denying::new();
    let mut requests = daemon.requests();
    assert!(requests.request(&asked(7, "call_1")).is_empty());
    daemon.denies().await;
    // The decision is there, and the terminal's answer is taken in before it.
    let decision = requests.next().await.unwrap();
    requests.resolved("t", &json!(7));
    assert_eq!(requests.decided(decision), [] as [Value; 0]);
    let (_, line, body) = daemon.next().await;
    assert_eq!(line, "POST /v1/asks/a1/cancel HTTP/1.1");
    assert_eq!(body, json!({"reason": "answered_elsewhere"}));
}

#[tokio::test]
async fn a_decision_never_answers_a_later_request_with_the_same_id() {
    let daemon = Denying::new();
    let mut requests = daemon.requests();
    requests.request(&asked(7, "call_1"));
    daemon.denies().await;
    let decision = requests.next().await.unwrap();
    // A new app-server counts from the beginning.
    requests.request(&asked(7, "call_2"));
    assert_eq!(requests.decided(decision), [] as [Value; 0]);
    daemon.next().await;
    assert_eq!(requests.open.len(), 1, "the later one still waits");
}

#[tokio::test]
async fn a_decision_in_time_is_sent_under_the_id_of_its_request() {
    let daemon = Denying::new();
    let mut requests = daemon.requests();
    requests.request(&asked(7, "call_1"));
    daemon.denies().await;
    let decision = requests.next().await.unwrap();
    let frames = requests.decided(decision);
    assert_eq!(
        (&frames[0]["id"], &frames[0]["result"]["decision"]),
        (&json!(7), &json!("decline"))
    );
}

/// A new app-server counts from the beginning, over all of its threads.
#[tokio::test]
async fn a_decision_never_answers_a_request_that_is_not_shown_or_another_thread_s() {
    let command = "item/commandExecution/requestApproval";
    for later in [
        in_thread("t", 7, "call_1", "item/permissions/requestApproval"),
        in_thread("t", 7, "call_1", "item/fileChange/requestApproval"),
        in_thread("other", 7, "call_1", command),
    ] {
        let daemon = Denying::new();
        let mut requests = daemon.requests();
        requests.request(&asked(7, "call_1"));
        daemon.denies().await;
        let decision = requests.next().await.unwrap();
        requests.connected();
        requests.request(&later);
        assert_eq!(requests.decided(decision), [] as [Value; 0], "{later:?}");
    }
}

#[tokio::test]
async fn a_decision_is_sent_to_a_new_app_server_only_once_its_request_has_come_again() {
    let daemon = Denying::new();
    let mut requests = daemon.requests();
    requests.request(&asked(7, "call_1"));
    daemon.denies().await;
    let decision = requests.next().await.unwrap();
    requests.connected();
    assert_eq!(requests.decided(decision), [] as [Value; 0]);
    let frames = requests.request(&asked(7, "call_1"));
    assert_eq!(
        (&frames[0]["id"], &frames[0]["result"]["decision"]),
        (&json!(7), &json!("decline"))
    );
}
