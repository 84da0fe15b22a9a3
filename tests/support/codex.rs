//! A fake of the app-server that Codex's terminals share: a WebSocket on a unix socket.

use crate::daemon::LONG;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::{
    net::{UnixListener, UnixStream},
    time::timeout,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

/// The thread of the golden transcripts.
pub const THREAD: &str = "01a1fb7a-1111-75f2-90ad-84234a109fcd";

/// The turn of its reviews.
pub const TURN: &str = "01a21fb2-3bed-7751-9380-5e7a94d33fd5";

/// The app-server.
pub struct FakeCodex {
    listener: UnixListener,
    socket: PathBuf,
    connection: Option<WebSocketStream<UnixStream>>,
}

impl FakeCodex {
    /// Listens below this folder of settings.
    pub fn listen(home: &Path) -> Self {
        let socket = home.join("app-server-control/app-server-control.sock");
        std::fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&socket);
        Self { listener: UnixListener::bind(&socket).unwrap(), socket, connection: None }
    }

    /// Takes the next connection and greets it, with these threads in memory.
    pub async fn greet(&mut self, loaded: &[&str]) {
        self.accept().await;
        self.list_loaded(loaded).await;
    }

    /// Takes the next connection and greets it.
    pub async fn accept(&mut self) {
        let (stream, _) = timeout(LONG, self.listener.accept()).await.unwrap().unwrap();
        let socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        self.connection = Some(socket);
        let hello = self.expect("initialize").await;
        assert_eq!(hello["params"]["clientInfo"]["name"], "countersign");
        let agent = json!({"userAgent": "codex-tui/0.169.0 (Debian; x86_64) (countersign; 0.1.0)"});
        self.send(&json!({"id": hello["id"], "result": agent})).await;
        assert_eq!(self.receive().await, json!({"method": "initialized"}));
    }

    /// Says which threads are in memory.
    pub async fn list_loaded(&mut self, loaded: &[&str]) {
        let asked = self.expect("thread/loaded/list").await;
        self.send(&json!({"id": asked["id"], "result": {"data": loaded, "nextCursor": null}}))
            .await;
    }

    /// Sends a frame.
    pub async fn send(&mut self, frame: &Value) {
        self.send_raw(Message::Text(frame.to_string().into())).await;
    }

    /// Sends anything.
    pub async fn send_raw(&mut self, message: Message) {
        self.connection.as_mut().unwrap().send(message).await.unwrap();
    }

    /// The next frame.
    pub async fn receive(&mut self) -> Value {
        let next = timeout(LONG, self.connection.as_mut().unwrap().next()).await;
        match next.expect("no frame came").unwrap().unwrap() {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The next frame, which is this request.
    pub async fn expect(&mut self, method: &str) -> Value {
        let frame = self.receive().await;
        assert_eq!(frame["method"], method, "{frame}");
        frame
    }

    /// Says whether the thread waits for a person.
    pub async fn status(&mut self, flags: &[&str]) {
        let status = json!({"type": "active", "activeFlags": flags});
        let params = json!({"threadId": THREAD, "status": status});
        self.send(&json!({"method": "thread/status/changed", "params": params})).await;
    }

    /// Ends the turn; the client leaves it.
    pub async fn idle(&mut self) {
        let params = json!({"threadId": THREAD, "status": {"type": "idle"}});
        self.send(&json!({"method": "thread/status/changed", "params": params})).await;
        self.expect("thread/unsubscribe").await;
    }

    /// Replies to a resume, with these items of the turn.
    pub async fn resumed(&mut self, asked: &Value, items: &[Value]) {
        assert_eq!(asked["params"]["threadId"], THREAD);
        let status = json!({"type": "active", "activeFlags": ["waitingOnApproval"]});
        let thread = json!({"id": THREAD, "cwd": "/home/ana/shop", "status": status,
            "turns": [{"items": items}]});
        self.send(&json!({"id": asked["id"], "result": {"thread": thread}})).await;
    }

    /// Lets a turn run whose requests Codex's own reviewer answers: the client follows it.
    pub async fn reviews(&mut self) {
        self.status(&[]).await;
        let asked = self.expect("thread/resume").await;
        self.resumed_reviewed(&asked).await;
    }

    /// Replies to a resume of that turn.
    pub async fn resumed_reviewed(&mut self, asked: &Value) {
        let status = json!({"type": "active", "activeFlags": []});
        let thread = json!({"id": THREAD, "cwd": "/home/ana/shop", "status": status, "turns": []});
        let result = json!({"thread": thread, "approvalsReviewer": "auto_review"});
        self.send(&json!({"id": asked["id"], "result": result})).await;
    }

    /// Says how its reviewer ended a review, as Codex 0.169.0 does.
    pub async fn reviewed(&mut self, id: &str, status: &str, action: &Value) {
        let review = json!({"status": status, "riskLevel": "high", "userAuthorization": "low",
            "rationale": "It sends data out."});
        let params = json!({"threadId": THREAD, "turnId": TURN, "startedAtMs": 5,
            "completedAtMs": 6, "reviewId": id, "targetItemId": "call_0",
            "decisionSource": "agent", "review": review, "action": action});
        self.send(&json!({"method": "item/autoApprovalReview/completed", "params": params})).await;
    }

    /// The next frame, which says who answers in the turn that runs.
    pub async fn expect_reviewer(&mut self, reviewer: &str) -> Value {
        let asked = self.expect("turn/settings/update").await;
        let wanted = json!({"threadId": THREAD, "turnId": TURN, "approvalsReviewer": reviewer});
        assert_eq!(asked["params"], wanted);
        asked
    }

    /// The same, which is applied.
    pub async fn reviewer_becomes(&mut self, reviewer: &str) {
        let asked = self.expect_reviewer(reviewer).await;
        self.send(&json!({"id": asked["id"], "result": {"status": "applied"}})).await;
    }

    /// Lets a person be waited for: the client comes for the request and gets it.
    pub async fn ask(&mut self, request: &Value) {
        self.status(&["waitingOnApproval"]).await;
        let asked = self.expect("thread/resume").await;
        assert_eq!(asked["params"]["excludeTurns"], true);
        self.resumed(&asked, &[]).await;
        self.send(request).await;
    }

    /// Says that a request was answered; the client leaves the thread then.
    pub async fn resolve(&mut self, id: &Value) {
        let params = json!({"threadId": THREAD, "requestId": id});
        self.send(&json!({"method": "serverRequest/resolved", "params": params})).await;
        self.status(&[]).await;
        self.expect("thread/unsubscribe").await;
    }

    /// Waits until the client has left.
    pub async fn ended(&mut self) {
        let next = timeout(LONG, self.connection.as_mut().unwrap().next()).await.unwrap();
        assert!(!matches!(next, Some(Ok(Message::Text(_)))), "{next:?}");
    }

    /// Ends: the socket is there, and nobody listens.
    pub fn kill(self) -> PathBuf {
        self.socket
    }
}

/// The frames of a golden transcript, each with its direction.
pub fn golden(name: &str) -> Vec<(String, Value)> {
    let file = format!("{}/tests/golden/codex/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let transcript: Value = serde_json::from_str(&text).unwrap();
    let frames = transcript["frames"].as_array().unwrap();
    let frame = |frame: &Value| (frame["dir"].as_str().unwrap().to_owned(), frame["data"].clone());
    frames.iter().map(frame).collect()
}

/// The request of a golden transcript, and the reply that Codex takes.
pub fn exchange(name: &str) -> (Value, Value) {
    let frames = golden(name);
    let is_request = |frame: &Value| frame.get("method").is_some() && frame.get("id").is_some();
    let from = |wanted: &str| {
        let of = move |(dir, _): &&(String, Value)| dir == wanted;
        frames.iter().filter(of).map(|(_, frame)| frame.clone()).collect::<Vec<_>>()
    };
    let request = from("agent->bridge").into_iter().find(is_request).unwrap();
    let reply = from("bridge->agent").into_iter().find(|frame| frame["id"] == request["id"]);
    (request, reply.unwrap_or_default())
}
