//! The appeals against Codex's own reviewer: what it denies comes to a person, and exactly the
//! retry of that may run, once.
//!
//! A yes lets nothing run by itself: the gate keeps a grant for exactly this command, in this
//! folder and thread. Codex's reviewer would deny the retry again, so the requests of that turn
//! come to people until the retry has come.

use crate::codex::{
    frame::{self, REVIEW, Reviewer},
    open_requests::wait_for,
    request::{APPLY_PATCH, NAME, command, mcp_tool},
};
use countersign_client::Client;
use countersign_domain::{
    Decision,
    call::{Appeal, Call},
    wire::CancelReason,
};
use countersign_tokens::{file, sha256_hex};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    sync::oneshot,
    task::{JoinError, JoinSet},
    time::Instant,
};

/// How long the requests of a turn come to people while its model makes no retry.
const RETRY: Duration = Duration::from_mins(5);

/// How often the reviewer is set back at an app-server that refuses it: it forgot the thread then.
const TRIES: u32 = 5;

/// Who blocks, as people read it.
const AGAINST: &str = "Codex's reviewer";

/// A review that ended without an approval. Its shape is marked as unstable by Codex.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Review {
    thread_id: String,
    turn_id: String,
    review_id: String,
    target_item_id: Option<String>,
    started_at_ms: i64,
    completed_at_ms: i64,
    review: ReviewVerdict,
    action: Map<String, Value>,
    /// The changes or the call of the item that was reviewed, and the folder of its thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known: Option<(Value, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewVerdict {
    status: ReviewStatus,
    risk_level: Option<String>,
    user_authorization: Option<String>,
    rationale: Option<String>,
}

/// The endings that a person may overrule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ReviewStatus {
    Denied,
    TimedOut,
}

impl Review {
    /// Reads the end of a review; `None` for one that approved or was given up.
    // FAIL-CLOSED: of what is not understood nothing is asked, so nothing is released.
    pub(super) fn of(params: &Map<String, Value>) -> Option<Self> {
        serde_json::from_value(params.clone().into()).ok()
    }

    /// Whether it belongs to this thread.
    pub(super) fn is_of(&self, thread: &str) -> bool {
        self.thread_id == thread
    }

    /// The thread and the item that were reviewed.
    pub(super) fn item(&self) -> (&str, &str) {
        (&self.thread_id, self.target_item_id.as_deref().unwrap_or_default())
    }

    /// The same with what is known of its item: the review itself does not say what would change.
    pub(super) fn of_item(self, known: Option<(Value, String)>) -> Self {
        Self { known, ..self }
    }

    /// The call that was denied; `None` where a card could not show it whole.
    fn call(&self, host: Option<&str>) -> Option<Call> {
        let text = |key: &str| self.action.get(key).and_then(Value::as_str);
        let has_only = |known: &[&str]| self.action.keys().all(|key| known.contains(&key.as_str()));
        let (tool, args, cwd) = match text("type")? {
            "command" if has_only(&["type", "source", "command", "cwd"]) => {
                let whole = Map::from_iter([("command".to_owned(), json!(text("command")?))]);
                let (tool, args) = command(&whole)?;
                (tool.to_owned(), args, text("cwd")?)
            }
            "applyPatch" if has_only(&["type", "cwd", "files"]) => {
                let changes = self.changes()?;
                (APPLY_PATCH.to_owned(), json!({ "changes": changes }), &*self.known.as_ref()?.1)
            }
            "mcpToolCall" => {
                let (call, cwd) = self.known.as_ref()?;
                let server = text("server")?;
                let tool = text("toolName")?;
                let is =
                    |name: &str, value: &str| call.get(name).and_then(Value::as_str) == Some(value);
                let is_it = is("server", server) && is("tool", tool);
                let args = call.get("arguments").filter(|args| args.is_object() && is_it)?;
                (mcp_tool(server, tool), args.clone(), &**cwd)
            }
            _ => return None,
        };
        let reason = self.review.rationale.as_deref().unwrap_or_default().trim();
        let reason = reason.trim_end_matches('.').chars().take(2_000).collect();
        Some(Call {
            key: Some(sha256_hex(
                format!("{REVIEW}{}/{}", self.thread_id, self.review_id).as_bytes(),
            )),
            host: host.map(str::to_owned),
            cwd: Some(cwd.to_owned()),
            appeal: Some(Appeal { against: AGAINST.to_owned(), reason }),
            ..Call::new(NAME, &self.thread_id, tool, args)
        })
    }

    /// The changes of the patch that was denied.
    // FAIL-CLOSED: the review names files alone; each of them has to be among the changes.
    fn changes(&self) -> Option<&Vec<Value>> {
        let changes = self.known.as_ref()?.0.as_array()?;
        let files = self.action.get("files")?.as_array().filter(|files| !files.is_empty())?;
        let is_changed =
            |file: &Value| changes.iter().any(|change| change.get("path") == Some(file));
        files.iter().all(is_changed).then_some(changes)
    }

    /// The same in the words in which Codex takes it back.
    fn event(&self) -> Value {
        let mut action: Map<String, Value> =
            self.action.iter().map(|(name, value)| (super::snake(name), value.clone())).collect();
        for name in ["type", "source"] {
            if let Some(Value::String(word)) = action.get_mut(name) {
                *word = super::snake(word);
            }
        }
        let status = match self.review.status {
            ReviewStatus::Denied => "denied",
            ReviewStatus::TimedOut => "timed_out",
        };
        json!({"id": self.review_id, "target_item_id": self.target_item_id,
            "turn_id": self.turn_id, "started_at_ms": self.started_at_ms,
            "completed_at_ms": self.completed_at_ms, "status": status,
            "risk_level": self.review.risk_level,
            "user_authorization": self.review.user_authorization,
            "rationale": self.review.rationale, "decision_source": "agent", "action": action})
    }
}

/// The reviews that a person is asked about, and those that a person overruled.
pub(super) struct Reviews {
    client: Client,
    host: Option<String>,
    /// Where they are kept, for a daemon that is killed.
    file: PathBuf,
    blocked: BTreeMap<String, Blocked>,
    asking: JoinSet<Asked>,
}

/// A blocked call.
struct Blocked {
    kept: Kept,
    call: Call,
    state: State,
    /// How often the reviewer could not be set back.
    tries: u32,
}

/// What of it outlives this process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    review: Review,
    /// A person released it, so the requests of its turn may come to people.
    released: bool,
    /// The ask that released it.
    ask: Option<String>,
}

enum State {
    /// A person is asked; takes the ask back.
    Asked(Option<oneshot::Sender<CancelReason>>),
    /// The requests of its turn begin to come to people.
    Lowering,
    /// Its model is told.
    Telling,
    /// The retry is waited for, since then.
    Awaited(Instant),
    /// It is over; what is left is to set the reviewer back.
    Over,
}

/// The end of a task.
pub(super) struct Asked {
    id: String,
    /// The ask that released it, where it was released.
    released: Option<Option<String>>,
}

impl Reviews {
    pub(super) fn new(client: Client, host: Option<String>, file: PathBuf) -> Self {
        let blocked = read(&file).into_iter().filter_map(|kept| {
            let call = kept.review.call(host.as_deref())?;
            let state = State::Asked(None);
            Some((kept.review.review_id.clone(), Blocked { kept, call, state, tries: 0 }))
        });
        let blocked = blocked.collect();
        Self { client, host, file, blocked, asking: JoinSet::new() }
    }

    /// A connection begins: what an earlier one has changed is set back, and what it waited for is
    /// asked again. The frames to send.
    pub(super) fn connected(&mut self) -> Vec<Value> {
        let ids: Vec<_> = self.blocked.keys().cloned().collect();
        let mut frames = Vec::new();
        for id in ids {
            let Some(blocked) = self.blocked.get_mut(&id) else { continue };
            if blocked.kept.released {
                frames.push(set(&id, &blocked.kept.review, Reviewer::Model));
            }
            match blocked.state {
                State::Asked(Some(_)) | State::Over => {}
                State::Asked(None) | State::Lowering | State::Telling | State::Awaited(_) => {
                    self.ask(&id);
                }
            }
        }
        frames
    }

    /// Ends those of threads that are no longer in memory. The frames to send.
    pub(super) fn loaded(&mut self, threads: &[String]) -> Vec<Value> {
        self.end(|review| !threads.contains(&review.thread_id))
    }

    /// Takes in a review that ended without an approval.
    pub(super) fn reviewed(&mut self, review: Review) {
        let id = review.review_id.clone();
        let Some(call) = review.call(self.host.as_deref()) else {
            tracing::info!(action = ?review.action.get("type"),
                "what Codex's reviewer denied is left to its terminal");
            return;
        };
        // It was judged before the change of its reviewer took hold.
        let is_released = |it: &Blocked| it.kept.released && is_same(&it.call, &call);
        if self.blocked.contains_key(&id) || self.blocked.values().any(is_released) {
            return;
        }
        let kept = Kept { review, released: false, ask: None };
        self.blocked
            .insert(id.clone(), Blocked { kept, call, state: State::Asked(None), tries: 0 });
        self.keep();
        self.ask(&id);
    }

    /// Waits for the next decision; `None` while nothing is asked.
    pub(super) async fn next(&mut self) -> Option<Result<Asked, JoinError>> {
        self.asking.join_next().await
    }

    /// Takes in a decision; returns the frames to send.
    // INVARIANT: that the reviewer is changed is on the disk before it is.
    pub(super) fn decided(&mut self, asked: Result<Asked, JoinError>) -> Vec<Value> {
        let Ok(Asked { id, released }) = asked else { return Vec::new() };
        let Some(blocked) = self.blocked.get_mut(&id) else { return Vec::new() };
        let State::Asked(_) = blocked.state else { return Vec::new() };
        let Some(ask) = released else { return self.over(&id) };
        blocked.kept.released = true;
        blocked.kept.ask = ask.or(blocked.kept.ask.take());
        blocked.state = State::Lowering;
        let frame = set(&id, &blocked.kept.review, Reviewer::Person);
        if self.keep() {
            return vec![frame];
        }
        self.refuse(&id, "countersign cannot note the change of Codex's reviewer on its disk");
        self.forget(&id);
        Vec::new()
    }

    /// Codex took a request of ours, or refused it. The frames to send.
    // FAIL-CLOSED: where it refuses, nothing stays released.
    pub(super) fn replied(&mut self, asked: &str, reply: Result<&Value, &str>) -> Vec<Value> {
        let words = asked.strip_prefix(REVIEW).and_then(|rest| rest.split_once('/'));
        let Some((step, id)) = words else { return Vec::new() };
        let Some(blocked) = self.blocked.get_mut(id) else { return Vec::new() };
        let status = reply.map(|result| result.get("status").and_then(Value::as_str));
        match (step, &blocked.state, status) {
            (PERSON, State::Lowering, Ok(Some("applied"))) => {
                blocked.state = State::Telling;
                let review = &blocked.kept.review;
                let id = format!("{REVIEW}{TELL}/{id}");
                vec![frame::approve_denied(&review.thread_id, &review.event(), &id)]
            }
            // Its turn is over: the grant waits for the next try.
            (PERSON, State::Lowering, Ok(Some("targetUnavailable"))) => {
                self.forget(id);
                Vec::new()
            }
            (TELL, State::Telling, Ok(_)) => {
                blocked.state = State::Awaited(Instant::now());
                Vec::new()
            }
            (PERSON, State::Lowering, refused) | (TELL, State::Telling, refused) => {
                let why = refused.err().unwrap_or("its reply is unknown");
                self.refuse(id, why);
                self.over(id)
            }
            (MODEL, State::Over, Ok(_)) => {
                self.forget(id);
                Vec::new()
            }
            (MODEL, State::Over, Err(why)) => {
                blocked.tries += 1;
                if blocked.tries >= TRIES {
                    tracing::error!(why, "Codex's reviewer cannot be set back");
                    self.forget(id);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A request of Codex was answered: where it was the retry, the reviewer is set back. The
    /// frames to send.
    pub(super) fn retried(&mut self, call: &Call) -> Vec<Value> {
        let is_it = |it: &Blocked| {
            it.kept.released && !matches!(it.state, State::Over) && is_same(&it.call, call)
        };
        let found = self.blocked.iter().find(|(_, it)| is_it(it)).map(|(id, _)| id.clone());
        found.map_or_else(Vec::new, |id| self.over(&id))
    }

    /// A turn is over, and its settings with it.
    pub(super) fn turn_ended(&mut self, thread: &str) {
        let of_it = |it: &Blocked| it.kept.released && it.kept.review.thread_id == thread;
        self.blocked.retain(|_, it| !of_it(it));
        self.keep();
    }

    /// Ends those that nobody can see any more. The frames to send.
    pub(super) fn end(&mut self, which: impl Fn(&Review) -> bool) -> Vec<Value> {
        self.over_where(|it| which(&it.kept.review))
    }

    /// Sets the reviewer back where no retry came, and where that is not known to be done. The
    /// frames to send.
    pub(super) fn tick(&mut self) -> Vec<Value> {
        self.over_where(|it| match it.state {
            State::Over => true,
            State::Awaited(since) => since.elapsed() > RETRY,
            State::Asked(_) | State::Lowering | State::Telling => false,
        })
    }

    fn over_where(&mut self, which: impl Fn(&Blocked) -> bool) -> Vec<Value> {
        let over = self.blocked.iter().filter(|(_, it)| which(it));
        let ids: Vec<_> = over.map(|(id, _)| id.clone()).collect();
        ids.iter().flat_map(|id| self.over(id)).collect()
    }

    /// What sets every reviewer back, for a daemon that stops.
    pub(super) fn restored(&self) -> Vec<Value> {
        let released = self.blocked.iter().filter(|(_, it)| it.kept.released);
        released.map(|(id, it)| set(id, &it.kept.review, Reviewer::Model)).collect()
    }

    /// Ends one: takes its ask back, or sets the reviewer back.
    fn over(&mut self, id: &str) -> Vec<Value> {
        let Some(blocked) = self.blocked.get_mut(id) else { return Vec::new() };
        if let State::Asked(cancel) = std::mem::replace(&mut blocked.state, State::Over)
            && let Some(cancel) = cancel
        {
            // A task that has ended is nobody's any more.
            let _ = cancel.send(CancelReason::SessionEnded);
        }
        if !blocked.kept.released {
            self.forget(id);
            return Vec::new();
        }
        let back = set(id, &blocked.kept.review, Reviewer::Model);
        let turn = blocked.kept.review.turn_id.clone();
        // Another one of the same turn still waits for its retry.
        let needs_it = |it: &Blocked| {
            let waits = it.kept.released && !matches!(it.state, State::Over);
            waits && it.kept.review.turn_id == turn
        };
        if self.blocked.values().any(needs_it) {
            self.forget(id);
            return Vec::new();
        }
        vec![back]
    }

    fn forget(&mut self, id: &str) {
        self.blocked.remove(id);
        self.keep();
    }

    /// Tells the gate that Codex does not carry out what a person released.
    fn refuse(&self, id: &str, why: &str) {
        tracing::warn!(why, "Codex does not accept an approval of what its reviewer denied");
        let ask = self.blocked.get(id).and_then(|it| it.kept.ask.clone());
        let Some(ask) = ask else { return };
        let client = self.client.clone();
        let why = why.to_owned();
        tokio::spawn(async move { client.refuse(&ask, &why).await });
    }

    /// Asks a person, or only looks whether the release still holds.
    fn ask(&mut self, id: &str) {
        let Some(blocked) = self.blocked.get_mut(id) else { return };
        let (cancel, cancelled) = oneshot::channel();
        blocked.state = State::Asked(Some(cancel));
        let client = self.client.clone();
        let call = blocked.call.clone();
        let id = id.to_owned();
        let was_released = blocked.kept.released;
        self.asking.spawn(async move {
            let released = if was_released {
                still_released(&client, &call).await.then_some(None)
            } else {
                released(&client, &call, cancelled).await
            };
            Asked { id, released }
        });
    }

    /// Writes what outlives this process; whether it is written.
    fn keep(&self) -> bool {
        let kept: Vec<_> = self.blocked.values().map(|it| &it.kept).collect();
        let written = if kept.is_empty() {
            file::remove(&self.file)
        } else {
            file::replace(&self.file, json!(kept).to_string())
        };
        if let Err(error) = &written {
            tracing::error!(%error, file = %self.file.display(), "Codex's reviews are not written");
        }
        written.is_ok()
    }
}

/// The steps, in the ids of our requests.
const PERSON: &str = "person";
const TELL: &str = "tell";
const MODEL: &str = "model";

/// Says who answers in the turn of this review.
fn set(id: &str, review: &Review, reviewer: Reviewer) -> Value {
    let step = match reviewer {
        Reviewer::Person => PERSON,
        Reviewer::Model => MODEL,
    };
    let asked = format!("{REVIEW}{step}/{id}");
    frame::set_reviewer(&review.thread_id, &review.turn_id, reviewer, &asked)
}

fn is_same(one: &Call, other: &Call) -> bool {
    one.without_words().digest() == other.without_words().digest()
}

/// Whether a person released exactly this call, and it has not run since.
async fn still_released(client: &Client, call: &Call) -> bool {
    let retry = Call { key: None, appeal: None, ..call.clone() };
    client.ahead(&retry, false).await.is_ok_and(|approved| approved.is_some())
}

/// Waits for a person; `None` without a release.
// FAIL-CLOSED: an error releases nothing. A yes that was revoked, or is held by a pause, neither.
async fn released(
    client: &Client,
    call: &Call,
    cancelled: oneshot::Receiver<CancelReason>,
) -> Option<Option<String>> {
    if still_released(client, call).await {
        return Some(None);
    }
    match wait_for(client, call, cancelled).await {
        Ok(Some(decided)) if decided.decision == Decision::Approve => {
            still_released(client, call).await.then_some(decided.ask)
        }
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "what Codex's reviewer denied stays denied");
            None
        }
    }
}

/// What an earlier process has left; nothing where it cannot be read.
fn read(file: &Path) -> Vec<Kept> {
    let read = file::read(file).and_then(|text| {
        text.map_or_else(|| Ok(Vec::new()), |text| serde_json::from_str(&text).map_err(Into::into))
    });
    read.unwrap_or_else(|error| {
        tracing::error!(%error, file = %file.display(), "Codex's reviews cannot be read");
        Vec::new()
    })
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
    use crate::codex::{frame::CodexFrame, request::CodexRequest};
    use countersign_client::{ClientSettings, Server};
    use tokio::time::{advance, pause};

    /// The frames of a turn of the real Codex whose reviewer was overruled: its and ours.
    fn recorded() -> (Vec<Value>, Vec<Value>) {
        let file = "tests/golden/codex/13_reviewer_overruled.json";
        let text = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
        let golden: Value = serde_json::from_str(&std::fs::read_to_string(text).unwrap()).unwrap();
        let frames = golden["frames"].as_array().unwrap().iter();
        let (theirs, ours) = frames.partition::<Vec<_>, _>(|frame| frame["dir"] == "agent->bridge");
        let data = |frames: Vec<&Value>| frames.iter().map(|it| it["data"].clone()).collect();
        (data(theirs), data(ours))
    }

    fn review() -> Review {
        match frame::read(&recorded().0[1].to_string()) {
            CodexFrame::Reviewed(review) => *review,
            other => panic!("{other:?}"),
        }
    }

    /// No daemon answers there.
    fn reviews(file: &Path) -> Reviews {
        let url = vec![Server::Unix(file.with_file_name("none"))];
        let settings = ClientSettings { url, token: None, insecure_http: false, ca_file: None };
        let client = Client::new(&settings, Duration::from_secs(1)).unwrap();
        Reviews::new(client, None, file.to_owned())
    }

    /// A review that a person overruled.
    fn overruled(file: &Path) -> (Reviews, String) {
        let mut reviews = reviews(file);
        let id = review().review_id;
        reviews.reviewed(review());
        let frames =
            reviews.decided(Ok(Asked { id: id.clone(), released: Some(Some("a1".into())) }));
        assert_eq!(frames, [recorded().1[1].clone()]);
        (reviews, id)
    }

    #[tokio::test]
    async fn the_frames_of_an_override_are_those_that_codex_takes() {
        let folder = tempfile::tempdir().unwrap();
        let (mut reviews, _) = overruled(&folder.path().join("kept"));
        let (theirs, ours) = recorded();
        let mut take = |frame: &Value| match frame::read(&frame.to_string()) {
            CodexFrame::Taken { asked, result } => reviews.replied(&asked, Ok(&result)),
            CodexFrame::Request(asked) => {
                let request =
                    CodexRequest::of(&asked, crate::codex::request::RequestContext::default());
                reviews.retried(&request.unwrap().call)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(take(&theirs[2]), [ours[2].clone()], "the model is told");
        assert_eq!(take(&theirs[3]), [] as [Value; 0]);
        assert_eq!(take(&theirs[4]), [ours[4].clone()], "the retry has come");
        assert_eq!(take(&theirs[6]), [] as [Value; 0]);
        assert!(reviews.blocked.is_empty() && !reviews.file.exists());
    }

    #[test]
    fn what_codex_denied_is_its_call_and_what_a_card_cannot_show_whole_is_none() {
        let call = review().call(Some("mill")).unwrap();
        assert_eq!((call.tool.as_str(), call.cwd.as_deref()), ("Bash", Some("/home/ana/shop")));
        assert_eq!(call.args, json!({"command": "touch /home/ana/one.txt"}));
        let reason = "scripted: sends data out".to_owned();
        assert_eq!(call.appeal, Some(Appeal { against: AGAINST.to_owned(), reason }));
        for (key, value) in [
            ("type", json!("writeStdin")),
            ("command", json!(["rm"])),
            ("cwd", json!(5)),
            ("permissions", json!({"network": true})),
        ] {
            let mut odd = review();
            odd.action.insert(key.to_owned(), value);
            assert_eq!(odd.call(None), None, "{key}");
        }
        for status in ["approved", "aborted", "inProgress", "new"] {
            let mut params = recorded().0[1]["params"].clone();
            params["review"]["status"] = json!(status);
            assert_eq!(Review::of(params.as_object().unwrap()), None, "{status}");
        }
    }

    /// A review of this action, with what is known of its item.
    fn of_action(action: Value, known: Value) -> Review {
        let action = action.as_object().unwrap().clone();
        Review { action, ..review() }.of_item(Some((known, "/home/ana/shop".to_owned())))
    }

    // Codex 0.169.0, as are the requests of the retries below.
    #[test]
    fn a_patch_is_shown_with_its_changes_and_taken_back_in_codexs_words() {
        let action = json!({"type": "applyPatch", "cwd": "/home/ana/shop", "files": ["/etc/motd"]});
        let changes = json!([{"path": "/etc/motd", "kind": {"type": "add"}, "diff": "hello\n"}]);
        let review = of_action(action.clone(), changes.clone());
        let call = review.call(None).unwrap();
        assert_eq!((&*call.tool, &call.args), (APPLY_PATCH, &json!({"changes": changes})));
        let words = json!({"type": "apply_patch", "cwd": "/home/ana/shop", "files": ["/etc/motd"]});
        assert_eq!(review.event()["action"], words);
        let other = json!([{"path": "/etc/issue", "kind": {"type": "add"}, "diff": ""}]);
        for known in [other, json!([]), json!({}), Value::Null] {
            assert_eq!(of_action(action.clone(), known.clone()).call(None), None, "{known}");
        }
        assert_eq!(review.of_item(None).call(None), None);
    }

    #[test]
    fn a_call_of_an_mcp_server_is_shown_with_its_arguments_and_its_retry_is_the_same_call() {
        let action = json!({"type": "mcpToolCall", "server": "x", "toolName": "note",
            "connectorId": null, "connectorName": null, "toolTitle": null});
        let known = json!({"server": "x", "tool": "note", "arguments": {"text": "hello"}});
        let review = of_action(action.clone(), known);
        let call = review.call(None).unwrap();
        assert_eq!((&*call.tool, &call.args), ("mcp__x__note", &json!({"text": "hello"})));
        let words = &review.event()["action"];
        assert_eq!(
            (&words["type"], &words["tool_name"]),
            (&json!("mcp_tool_call"), &json!("note"))
        );
        let about = json!({"codex_approval_kind": "mcp_tool_call", "tool_name": "note",
            "persist": ["session", "always"], "tool_description": "Notes",
            "tool_params": {"text": "hello"}});
        let params = json!({"threadId": call.session, "turnId": "u", "serverName": "x",
            "mode": "form", "_meta": about, "message": "Allow it?",
            "requestedSchema": {"type": "object", "properties": {}}});
        let asked = json!({"method": "mcpServer/elicitation/request", "id": 0, "params": params});
        let CodexFrame::Request(asked) = frame::read(&asked.to_string()) else { panic!("{asked}") };
        let cwd = Some("/home/ana/shop");
        let context = crate::codex::request::RequestContext { cwd, ..Default::default() };
        assert!(is_same(&call, &CodexRequest::of(&asked, context).unwrap().call));
        for known in [
            json!({"server": "y", "tool": "note", "arguments": {}}),
            json!({"server": "x", "tool": "note", "arguments": null}),
        ] {
            assert_eq!(of_action(action.clone(), known.clone()).call(None), None, "{known}");
        }
    }

    #[tokio::test]
    async fn the_reviewer_is_set_back_when_no_retry_comes_and_until_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (mut reviews, id) = overruled(&folder.path().join("kept"));
        let applied = json!({"status": "applied"});
        reviews.replied(&format!("review/person/{id}"), Ok(&applied));
        reviews.replied(&format!("review/tell/{id}"), Ok(&json!({})));
        pause();
        assert_eq!(reviews.tick(), [] as [Value; 0]);
        advance(RETRY + Duration::from_secs(1)).await;
        let back = [recorded().1[4].clone()];
        assert_eq!(reviews.tick(), back);
        assert_eq!(reviews.tick(), back, "nothing says that it is done");
        assert_eq!(reviews.connected(), back, "the connection was lost");
        reviews.replied(&format!("review/model/{id}"), Ok(&applied));
        assert!(reviews.blocked.is_empty() && !reviews.file.exists());
    }

    #[tokio::test]
    async fn what_a_killed_daemon_has_changed_is_set_back_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept");
        drop(overruled(&file));
        let mut next = reviews(&file);
        assert_eq!(next.connected(), [recorded().1[4].clone()]);
        // No daemon says that the release still holds.
        let asked = next.next().await.unwrap();
        assert_eq!(next.decided(asked), [recorded().1[4].clone()]);
        for _ in 0..TRIES {
            next.replied(&format!("review/model/{}", review().review_id), Err("no such thread"));
        }
        assert!(next.blocked.is_empty() && !file.exists());
        std::fs::write(&file, "[{").unwrap();
        assert_eq!(reviews(&file).connected(), [] as [Value; 0]);
    }

    #[tokio::test]
    async fn without_a_note_on_the_disk_nothing_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gone/kept");
        let mut reviews = reviews(&file);
        let id = review().review_id;
        reviews.reviewed(review());
        assert_eq!(reviews.decided(Ok(Asked { id, released: Some(None) })), [] as [Value; 0]);
        assert!(reviews.blocked.is_empty());
    }
}
