//! Threads: the files in those of cards, and those of sessions, which have a message in the channel
//! and the cards as replies to it.

use crate::api::WebApi;
use crate::bot::{SlackBot, put};
use crate::ids;
use crate::problem::ApiProblem;
use crate::rich::{escape, words};
use countersign_port::TextFile;
use countersign_port::{MessageRef, Posting, SendError, SessionThread, Target, locked};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// More threads than this are not remembered; they are read again.
const THREADS: usize = 1024;

/// The names of the files in each thread, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Threads(Mutex<HashMap<MessageRef, HashSet<String>>>);

impl Threads {
    /// A message was just posted: nothing is in its thread.
    pub(crate) fn started(&self, message: &MessageRef) {
        let mut known = locked(&self.0);
        if known.len() >= THREADS {
            known.clear();
        }
        known.insert(message.clone(), HashSet::new());
    }

    /// Uploads those files that are not in the thread of a message yet.
    pub(crate) async fn attach(
        &self,
        api: &WebApi,
        message: &MessageRef,
        files: &[TextFile],
    ) -> Result<(), ApiProblem> {
        let Ok((channel, ts)) = ids::parts(message) else { return Ok(()) };
        if files.is_empty() {
            return Ok(());
        }
        // A thread has no threads: the files of several cards are told apart by their names.
        let thread = ids::thread_of(message);
        let named = |file: &TextFile| match thread {
            Some(_) => TextFile { name: format!("{ts}-{}", file.name), ..file.clone() },
            None => file.clone(),
        };
        let files: Vec<_> = files.iter().map(named).collect();
        let ts = thread.unwrap_or(ts);
        let known = locked(&self.0).get(message).cloned();
        let there = match known {
            Some(there) => there,
            None => {
                let there = read(api, channel, ts).await?;
                self.started(message);
                locked(&self.0).insert(message.clone(), there.clone());
                there
            }
        };
        for file in files.iter().filter(|file| !there.contains(&file.name)) {
            upload(api, (channel, ts), file).await?;
            locked(&self.0).entry(message.clone()).or_default().insert(file.name.clone());
        }
        Ok(())
    }
}

/// The names of the files in a thread; none where the bot may not read it.
async fn read(api: &WebApi, channel: &str, ts: &str) -> Result<HashSet<String>, ApiProblem> {
    let arguments = [("channel", channel), ("ts", ts), ("limit", "200")];
    let replies = match api.read("conversations.replies", &arguments).await {
        Err(ApiProblem::Scope(_) | ApiProblem::Refused { .. }) => return Ok(HashSet::new()),
        replies => replies?,
    };
    let messages = replies.get("messages").and_then(Value::as_array).into_iter().flatten();
    let files = messages.filter_map(|it| it.get("files").and_then(Value::as_array)).flatten();
    let names = files.filter_map(|file| file.get("name").and_then(Value::as_str));
    Ok(names.map(str::to_owned).collect())
}

async fn upload(
    api: &WebApi,
    (channel, ts): (&str, &str),
    file: &TextFile,
) -> Result<(), ApiProblem> {
    let length = file.text.len().to_string();
    let arguments = [("filename", file.name.as_str()), ("length", &length)];
    let place = api.read("files.getUploadURLExternal", &arguments).await?;
    let text = |key| place.get(key).and_then(Value::as_str);
    let (Some(url), Some(id)) = (text("upload_url"), text("file_id")) else {
        return Err(ApiProblem::Unreachable("its answer names no place for a file".to_owned()));
    };
    api.upload(url, &file.text).await?;
    let files = json!([{"id": id, "title": file.name}]);
    let share = json!({"files": files, "channel_id": channel, "thread_ts": ts});
    api.write("files.completeUploadExternal", &share).await.map(drop)
}

/// The kind of the first message's metadata.
const SESSION: &str = "countersign_session";
/// What is shown of a name, in characters.
const NAME: usize = 150;

impl SlackBot {
    /// Posts the first message of a thread, or shows that it is open again.
    pub(crate) async fn open_thread(
        &self,
        target: &Target,
        thread: &SessionThread,
        posting: Posting,
    ) -> Result<Target, SendError> {
        if let Some(place) = &thread.place {
            self.redraw_head(place, thread, "").await?;
            return Ok(place.clone());
        }
        let channel = &*self.direct.channel(&self.api, target).await?;
        let found = match posting {
            Posting::First => None,
            // FAIL-CLOSED: where it cannot be looked for, nothing may be posted twice.
            Posting::MayRepeat => match self.look((channel, None), SESSION, &thread.id).await {
                Err(problem @ (ApiProblem::Scope(_) | ApiProblem::Refused { .. })) => {
                    return Err(SendError::Refused(format!(
                        "whether the thread was made cannot be found out: {problem}"
                    )));
                }
                found => found.map_err(|problem| problem.send_error(channel))?,
            },
        };
        let ts = match found {
            Some(ts) => ts,
            None => self.post_head(channel, thread).await?,
        };
        Ok(Target(ids::reference(channel, &ts).0))
    }

    /// Shows that a thread is over. Slack has no threads that are closed.
    pub(crate) async fn close_thread(&self, thread: &SessionThread) -> Result<(), SendError> {
        let Some(place) = &thread.place else { return Ok(()) };
        match self.redraw_head(place, thread, " · ended").await {
            Err(SendError::ThreadGone(_)) => Ok(()),
            drawn => drawn,
        }
    }

    async fn post_head(&self, channel: &str, thread: &SessionThread) -> Result<String, SendError> {
        let mut body = head(channel, thread, "");
        let metadata = json!({"event_type": SESSION, "event_payload": {"id": thread.id}});
        put(&mut body, "metadata", metadata);
        put(&mut body, "unfurl_links", false.into());
        put(&mut body, "unfurl_media", false.into());
        let posted = self.api.write("chat.postMessage", &body).await;
        let posted = posted.map_err(|problem| problem.send_error(channel))?;
        let ts = posted.get("ts").and_then(Value::as_str).map(str::to_owned);
        ts.ok_or_else(|| SendError::Transient("Slack's answer names no message".to_owned()))
    }

    async fn redraw_head(
        &self,
        place: &Target,
        thread: &SessionThread,
        ending: &str,
    ) -> Result<(), SendError> {
        let gone = || SendError::ThreadGone(format!("`{}` is not a thread in Slack", place.0));
        let (channel, ts) = ids::thread(place).ok_or_else(gone)?;
        let mut body = head(channel, thread, ending);
        put(&mut body, "ts", ts.into());
        match self.api.write("chat.update", &body).await {
            Ok(_) => Ok(()),
            // It can be replied to, and no more.
            Err(problem) if problem.word() == "edit_window_closed" => Ok(()),
            Err(problem) if problem.word() == "message_not_found" => {
                Err(SendError::ThreadGone(format!("Slack channel {channel}: {problem}")))
            }
            Err(problem) => Err(problem.send_error(channel)),
        }
    }
}

/// The first message of a thread.
// SECURITY: agents choose parts of the name: in `rich_text` it has no mentions, links or formats.
fn head(channel: &str, thread: &SessionThread, ending: &str) -> Value {
    let says = format!("🧵 {}{ending}", thread.name_within(NAME));
    let blocks: Vec<Value> = words(&says).block().into_iter().collect();
    json!({"channel": channel, "text": escape(&says), "parse": "none", "blocks": blocks})
}
