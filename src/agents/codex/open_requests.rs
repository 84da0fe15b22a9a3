//! The requests of Codex that wait for a person, over all connections to its app-server.

use crate::codex::{
    frame::{self, CodexThread, Reviewer, ServerRequest},
    request::{CodexReply, CodexRequest, RequestContext, key},
};
use countersign_client::{Client, ClientError, Decided, Submitted};
use countersign_domain::{call::Call, wire::CancelReason};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use tokio::{
    sync::oneshot,
    task::{JoinError, JoinSet},
};

/// A request: its thread, and its id as text.
type RequestId = (String, String);

/// The open requests.
pub(super) struct OpenRequests {
    client: Client,
    host: Option<String>,
    open: HashMap<RequestId, WaitingRequest>,
    threads: HashMap<String, KnownThread>,
    asking: JoinSet<Asked>,
    /// Requests, by key, that were over while their decision had not been taken in yet.
    over: HashMap<String, CancelReason>,
    /// Counts the connections.
    connection: u64,
}

/// A request that waits.
struct WaitingRequest {
    request: CodexRequest,
    id: Value,
    /// Takes the ask back.
    cancel: Option<oneshot::Sender<CancelReason>>,
    /// The reply, once there is one.
    reply: Option<CodexReply>,
    /// The connection that it came by last.
    connection: u64,
}

/// What is known of a thread on this connection.
#[derive(Default)]
struct KnownThread {
    cwd: Option<String>,
    changes: HashMap<String, Value>,
    mcp_calls: HashMap<String, Value>,
    /// Its requests come here.
    is_followed: bool,
    /// Who answers them, where that is known of its turn.
    reviewer: Option<Reviewer>,
    /// The items whose changes were asked for.
    looked_up: HashSet<String>,
}

/// The end of a request's task.
pub(super) struct Asked {
    id: RequestId,
    key: Option<String>,
    /// The reply, with the id of the ask that a person answered.
    decided: Option<(CodexReply, Option<String>)>,
}

impl OpenRequests {
    pub(super) fn new(client: Client, host: Option<String>) -> Self {
        let open = HashMap::new();
        let threads = HashMap::new();
        let asking = JoinSet::new();
        let over = HashMap::new();
        Self { client, host, open, threads, asking, over, connection: 0 }
    }

    /// A connection begins: every thread is new to it.
    pub(super) fn connected(&mut self) {
        self.connection += 1;
        self.threads.clear();
    }

    /// Takes back what did not come again by this connection.
    pub(super) fn forget_older(&mut self) {
        let connection = self.connection;
        let gone = |open: &WaitingRequest| open.connection != connection;
        self.take_back(|_, open| gone(open), CancelReason::SessionEnded);
    }

    /// Takes back everything: there is no app-server any more.
    pub(super) fn forget_all(&mut self) {
        self.take_back(|_, _| true, CancelReason::SessionEnded);
    }

    /// Takes back everything, and leaves the threads: all terminals are closed. The frames to send.
    pub(super) fn abandoned(&mut self) -> Vec<Value> {
        self.forget_all();
        let followed = self.threads.iter_mut().filter(|(_, thread)| thread.is_followed);
        let left = followed.map(|(id, thread)| {
            thread.is_followed = false;
            frame::leave(id)
        });
        left.collect()
    }

    /// Takes in what is known of a thread; returns the frames to send.
    pub(super) fn thread(&mut self, told: CodexThread) -> Vec<Value> {
        let CodexThread { id, waits, runs, reviewer, cwd, changes, mcp_calls } = told;
        let thread = self.threads.entry(id.clone()).or_default();
        thread.cwd = cwd.or(thread.cwd.take());
        thread.changes.extend(changes);
        thread.mcp_calls.extend(mcp_calls);
        // The next turn may have another one.
        thread.reviewer = reviewer.or(thread.reviewer.take()).filter(|_| runs != Some(false));
        // What a reviewer denies is told only to those who follow the thread.
        let is_reviewed = thread.reviewer == Some(Reviewer::Model);
        let is_unknown = thread.reviewer.is_none() && runs == Some(true);
        match waits {
            Some(true) if !thread.is_followed => {
                thread.is_followed = true;
                vec![frame::resume(&id)]
            }
            Some(false) => {
                let is_followed = thread.is_followed;
                let follows = is_reviewed || is_unknown && !is_followed;
                *thread = KnownThread {
                    cwd: thread.cwd.take(),
                    is_followed: follows,
                    // A thread that does not tell it is not asked again in this turn.
                    reviewer: thread
                        .reviewer
                        .or((is_unknown && is_followed).then_some(Reviewer::Person)),
                    ..KnownThread::default()
                };
                // It waits for nobody, so all of its requests are answered.
                self.take_back(|(of, _), _| *of == id, CancelReason::AnsweredElsewhere);
                match (is_followed, follows) {
                    (false, true) => vec![frame::resume(&id)],
                    (true, false) => vec![frame::leave(&id)],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// The call of a request that waits.
    pub(super) fn call_of(&self, thread: &str, id: &Value) -> Option<Call> {
        let open = self.open.get(&(thread.to_owned(), id.to_string()))?;
        Some(open.request.call.clone())
    }

    /// The changes or the call of an item, and the folder of its thread.
    pub(super) fn known_of(&self, thread: &str, item: &str) -> Option<(Value, String)> {
        let thread = self.threads.get(thread)?;
        let known = thread.changes.get(item).or_else(|| thread.mcp_calls.get(item))?;
        Some((known.clone(), thread.cwd.clone()?))
    }

    /// Takes in a request; returns the frames to send.
    pub(super) fn request(&mut self, asked: &ServerRequest) -> Vec<Value> {
        let Some(thread_id) = asked.thread() else { return Vec::new() };
        let id: RequestId = (thread_id.to_owned(), asked.id.to_string());
        // SECURITY: a new app-server counts its requests from the beginning, over all threads. A
        // press on the card of an earlier one must not answer this one, whether it can be shown or
        // not.
        let key = Some(key(asked));
        self.take_back(
            |(_, known), open| *known == id.1 && open.request.call.key != key,
            CancelReason::SessionEnded,
        );
        let thread = self.threads.entry(thread_id.to_owned()).or_default();
        let item = asked.item().unwrap_or_default();
        let changes = thread.changes.get(item).filter(|_| asked.item().is_some());
        // The request does not say what would change. Codex sends it again behind the reply.
        let is_change = asked.method == "item/fileChange/requestApproval";
        if is_change && changes.is_none() && thread.looked_up.insert(item.to_owned()) {
            return vec![frame::resume_with_items(thread_id)];
        }
        let cwd = thread.cwd.as_deref();
        let host = self.host.as_deref();
        let Some(request) = CodexRequest::of(asked, RequestContext { cwd, changes, host }) else {
            tracing::info!(method = asked.method, "a request of Codex is left to its terminal");
            return Vec::new();
        };
        if let Some(open) = self.open.get_mut(&id) {
            open.connection = self.connection;
            return open.frames();
        }
        let (cancel, cancelled) = oneshot::channel();
        let client = self.client.clone();
        let task = request.clone();
        let asked_as = id.clone();
        self.asking.spawn(async move {
            let decided = ask(&client, &task, cancelled).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "a request of Codex is left to its terminal");
                None
            });
            Asked { id: asked_as, key: task.call.key, decided }
        });
        let asked_id = asked.id.clone();
        let connection = self.connection;
        let open =
            WaitingRequest { request, id: asked_id, cancel: Some(cancel), reply: None, connection };
        self.open.insert(id, open);
        Vec::new()
    }

    /// A request was answered, here or at the terminal.
    pub(super) fn resolved(&mut self, thread: &str, id: &Value) {
        let resolved = (thread.to_owned(), id.to_string());
        self.take_back(|known, _| *known == resolved, CancelReason::AnsweredElsewhere);
    }

    /// A thread is gone.
    pub(super) fn closed(&mut self, thread: &str) {
        self.threads.remove(thread);
        self.take_back(|(of, _), _| of == thread, CancelReason::SessionEnded);
    }

    /// Waits for the next decision; `None` while nothing is asked.
    pub(super) async fn next(&mut self) -> Option<Result<Asked, JoinError>> {
        self.asking.join_next().await
    }

    /// Takes in a decision; returns the frames to send.
    // INVARIANT: what was answered at the terminal first is not answered again.
    pub(super) fn decided(&mut self, asked: Result<Asked, JoinError>) -> Vec<Value> {
        let Ok(Asked { id, key, decided }) = asked else { return Vec::new() };
        if let Some(reason) = key.as_ref().and_then(|key| self.over.remove(key)) {
            if let Some((_, Some(ask))) = decided {
                let client = self.client.clone();
                tokio::spawn(async move { client.cancel(&ask, reason).await });
            }
            return Vec::new();
        }
        // The id alone may be that of a later request.
        let of_this = |open: &&mut WaitingRequest| open.request.call.key == key;
        let Some(open) = self.open.get_mut(&id).filter(of_this) else { return Vec::new() };
        open.reply = decided.map(|(reply, _)| reply);
        open.cancel = None;
        // SECURITY: at another app-server the id may be that of another request; the reply is sent
        // once the request has come again.
        if open.connection == self.connection { open.frames() } else { Vec::new() }
    }

    fn take_back(
        &mut self,
        which: impl Fn(&RequestId, &WaitingRequest) -> bool,
        reason: CancelReason,
    ) {
        for (_, open) in self.open.extract_if(|id, open| which(id, open)) {
            // A task that has ended brings a decision that nobody takes any more.
            let ended = open.cancel.is_some_and(|cancel| cancel.send(reason).is_err());
            if let (true, Some(key)) = (ended, open.request.call.key) {
                self.over.insert(key, reason);
            }
        }
    }
}

impl WaitingRequest {
    /// The reply, if there is one.
    fn frames(&self) -> Vec<Value> {
        let Some(CodexReply { result, words }) = &self.reply else { return Vec::new() };
        let thread = &self.request.call.session;
        let turn = &self.request.turn;
        let words = words.as_ref().map(|words| frame::tell(thread, turn, words));
        [frame::answer(&self.id, result)].into_iter().chain(words).collect()
    }
}

/// Submits a request and waits for its decision, or until it is cancelled.
async fn ask(
    client: &Client,
    request: &CodexRequest,
    cancelled: oneshot::Receiver<CancelReason>,
) -> Result<Option<(CodexReply, Option<String>)>, ClientError> {
    let decided = wait_for(client, &request.call, cancelled).await?;
    Ok(decided.and_then(|decided| Some((request.reply(&decided)?, decided.ask))))
}

/// Submits a call and waits for its decision; `None` where it is cancelled before.
pub(super) async fn wait_for(
    client: &Client,
    call: &Call,
    mut cancelled: oneshot::Receiver<CancelReason>,
) -> Result<Option<Decided>, ClientError> {
    // Not held: the id is needed to take it back.
    let submitted = match client.submit_and_leave(call).await {
        Err(ClientError::TooMuch(_) | ClientError::Lost { .. }) => {
            client.submit_in_turn(call).await
        }
        Err(ClientError::Unreachable { .. }) => client.submit_patiently(call).await,
        submitted => submitted,
    };
    let decided = match submitted? {
        Submitted::Decided(decided) => match (cancelled.try_recv(), &decided.ask) {
            (Err(_), _) => *decided,
            (Ok(_), None) => return Ok(None),
            (Ok(reason), Some(id)) => return client.cancel(id, reason).await.map(|()| None),
        },
        Submitted::Ask(id) => tokio::select! {
            biased;
            Ok(reason) = cancelled => return client.cancel(&id, reason).await.map(|()| None),
            decided = client.decided(call, &id) => decided?,
        },
    };
    Ok(Some(decided))
}

#[cfg(test)]
mod tests {
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
}
