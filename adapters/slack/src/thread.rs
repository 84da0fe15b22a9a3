//! The files in the threads of cards.

use crate::api::WebApi;
use crate::ids;
use crate::problem::ApiProblem;
use crate::sheet::ThreadFile;
use countersign_port::MessageRef;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More threads than this are not remembered; they are read again.
const REMEMBERED: usize = 1024;

/// The names of the files in each thread, as far as they are known.
#[derive(Debug, Default)]
pub(crate) struct Threads(Mutex<HashMap<MessageRef, HashSet<String>>>);

impl Threads {
    /// A message was just posted: nothing is in its thread.
    pub(crate) fn started(&self, message: &MessageRef) {
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(message.clone(), HashSet::new());
    }

    /// Uploads those files that are not in the thread of a message yet.
    pub(crate) async fn attach(
        &self,
        api: &WebApi,
        message: &MessageRef,
        files: &[ThreadFile],
    ) -> Result<(), ApiProblem> {
        let Ok((channel, ts)) = ids::parts(message) else { return Ok(()) };
        if files.is_empty() {
            return Ok(());
        }
        // A thread has no threads: the files of several cards are told apart by their names.
        let thread = ids::thread_of(message);
        let named = |file: &ThreadFile| match thread {
            Some(_) => ThreadFile { name: format!("{ts}-{}", file.name), ..file.clone() },
            None => file.clone(),
        };
        let files: Vec<_> = files.iter().map(named).collect();
        let ts = thread.unwrap_or(ts);
        let known = self.known().get(message).cloned();
        let there = match known {
            Some(there) => there,
            None => {
                let there = read(api, channel, ts).await?;
                self.started(message);
                self.known().insert(message.clone(), there.clone());
                there
            }
        };
        for file in files.iter().filter(|file| !there.contains(&file.name)) {
            upload(api, (channel, ts), file).await?;
            self.known().entry(message.clone()).or_default().insert(file.name.clone());
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<MessageRef, HashSet<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    file: &ThreadFile,
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
