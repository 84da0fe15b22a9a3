//! The open calls of a program at the daemon.

use countersign_client::{Client, ClientError, Decided, Submitted};
use countersign_domain::wire::CancelReason;
use countersign_gate::call::Call;
use std::{collections::HashMap, pin::pin, time::Duration};
use tokio::{
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    task::{JoinError, JoinSet},
    time::{Instant, timeout, timeout_at},
};

/// The time for cancelling a call. After that the daemon notices by itself.
const BACK: Duration = Duration::from_secs(5);

/// A call's key with its decision; `None` if it was cancelled.
type FinishedCall = (String, Option<Result<Decided, ClientError>>);

/// All open calls of the program.
pub(super) struct OpenCalls {
    client: Client,
    without_daemon: WithoutDaemon,
    waiting: JoinSet<FinishedCall>,
    back: HashMap<String, oneshot::Sender<CancelReason>>,
    /// Calls that were over while their decision had not been taken in yet.
    over: HashMap<String, CancelReason>,
    /// The asks of decided calls, by key.
    answered: HashMap<String, String>,
    opening: UnboundedSender<(String, String)>,
    opened: UnboundedReceiver<(String, String)>,
}

/// What a call does that finds no daemon. One that was submitted always outlives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutDaemon {
    /// It waits for one to start, up to two minutes.
    Waits,
    /// It fails at once.
    Fails,
}

/// News about a call, by its key.
pub(super) enum CallNews {
    /// A person is asked, under this ask id.
    Opened(String, String),
    /// It is decided, or it cannot be.
    Decided(String, Box<Result<Decided, ClientError>>),
}

impl OpenCalls {
    pub(super) fn new(client: Client, without_daemon: WithoutDaemon) -> Self {
        let (opening, opened) = unbounded_channel();
        let waiting = JoinSet::new();
        let back = HashMap::new();
        let over = HashMap::new();
        let answered = HashMap::new();
        Self { client, without_daemon, waiting, back, over, answered, opening, opened }
    }

    /// Submits a call.
    pub(super) fn open(&mut self, key: String, mut call: Call) {
        call.existing = countersign_agents::existing(&call);
        let (back, taken) = oneshot::channel();
        self.back.insert(key.clone(), back);
        let client = self.client.clone();
        let opening = self.opening.clone();
        let without_daemon = self.without_daemon;
        self.waiting.spawn(async move {
            // The receiver lives as long as this task.
            let opened = |id: &str| drop(opening.send((key.clone(), id.to_owned())));
            let done = ask(&client, &call, without_daemon, opened, taken).await;
            (key, done)
        });
    }

    /// Cancels a call. One that is answered keeps its answer, and its card says that it came too
    /// late if it was answered elsewhere.
    pub(super) fn take_back(&mut self, key: &str, why: CancelReason) {
        if let Some(back) = self.back.remove(key) {
            if back.send(why).is_err() {
                self.over.insert(key.to_owned(), why);
            }
        } else if let Some(ask) = self.answered.remove(key) {
            self.report(ask, key, why);
        }
    }

    fn report(&mut self, ask: String, key: &str, why: CancelReason) {
        let client = self.client.clone();
        let key = key.to_owned();
        self.waiting.spawn(async move {
            let _ = client.cancel(&ask, why).await;
            (key, None)
        });
    }

    /// Waits for the next news.
    pub(super) async fn next(&mut self) -> CallNews {
        loop {
            tokio::select! {
                biased;
                Some((key, id)) = self.opened.recv() => return CallNews::Opened(key, id),
                // Not while it is empty: the select would spin.
                Some(done) = self.waiting.join_next(), if !self.waiting.is_empty() => {
                    if let Some(news) = self.finished(done) {
                        return news;
                    }
                }
            }
        }
    }

    /// Takes in the end of a call's task. A decision on a call that is over is told to have come
    /// too late.
    fn finished(&mut self, done: Result<FinishedCall, JoinError>) -> Option<CallNews> {
        // A task that panicked makes no decision.
        let (key, decided) = done.ok()?;
        self.back.remove(&key);
        let decided = decided?;
        let ask = decided.as_ref().ok().and_then(|decided| decided.ask.clone());
        match (self.over.remove(&key), ask) {
            (None, ask) => {
                self.answered.extend(ask.map(|ask| (key.clone(), ask)));
                Some(CallNews::Decided(key, Box::new(decided)))
            }
            (Some(why), Some(ask)) => {
                self.report(ask, &key, why);
                None
            }
            (Some(_), None) => None,
        }
    }

    /// Cancels every call that is still open, and waits until they are.
    pub(super) async fn close(&mut self, why: CancelReason) {
        for (_, back) in self.back.drain() {
            let _ = back.send(why);
        }
        self.finish(Instant::now() + BACK).await;
    }

    /// Waits until every call is cancelled, and ends the session.
    pub(super) async fn leave(mut self, agent: &str, session: &str) {
        let until = Instant::now() + BACK;
        self.finish(until).await;
        // If this fails, the daemon still notices that its callers are gone.
        let _ = timeout_at(until, self.client.end_session(agent, session)).await;
    }

    async fn finish(&mut self, until: Instant) {
        while let Ok(Some(done)) = timeout_at(until, self.waiting.join_next()).await {
            // Nobody takes a decision any more.
            let _ = self.finished(done);
        }
    }
}

async fn ask(
    client: &Client,
    call: &Call,
    without_daemon: WithoutDaemon,
    opened: impl FnOnce(&str),
    mut taken: oneshot::Receiver<CancelReason>,
) -> Option<Result<Decided, ClientError>> {
    let mut submitting = pin!(async {
        match without_daemon {
            WithoutDaemon::Waits => client.submit_patiently(call).await,
            WithoutDaemon::Fails => client.submit_in_turn(call).await,
        }
    });
    let (submitted, why) = tokio::select! {
        submitted = &mut submitting => (submitted, None),
        // The id is needed to cancel the ask with the right reason, so the submission is awaited.
        why = &mut taken => (timeout(BACK, submitting).await.ok()?, why.ok()),
    };
    if let Some(why) = why {
        // A person may have answered at the same moment; nobody takes the answer any more.
        if let Some(id) = submitted.ok().and_then(Submitted::ask) {
            let _ = client.cancel(&id, why).await;
        }
        return None;
    }
    let id = match submitted {
        Ok(Submitted::Ask(id)) => id,
        Ok(Submitted::Decided(decided)) => return Some(Ok(*decided)),
        Err(error) => return Some(Err(error)),
    };
    opened(&id);
    tokio::select! {
        // First: once it was answered elsewhere, nobody takes this answer.
        biased;
        why = taken => {
            let _ = client.cancel(&id, why.unwrap_or(CancelReason::Aborted)).await;
            None
        }
        decided = client.decided(call, &id) => Some(decided),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_client::{ClientSettings, Server};
    use serde_json::{Value, json};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{UnixListener, UnixStream},
    };

    // A person's answer and the agent's own, in every order that the daemon and this program can see.

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
}
