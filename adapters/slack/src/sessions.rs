//! Threads of sessions: a message in the channel for each, and the cards as replies to it.

use crate::bot::{SlackBot, put};
use crate::ids;
use crate::problem::ApiProblem;
use crate::rich::{escape, words};
use countersign_port::{Posting, SendError, SessionThread, Target};
use serde_json::{Value, json};

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
        let gone = || SendError::ThreadGone(format!("`{}` is no thread in Slack", place.0));
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
