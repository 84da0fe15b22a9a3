//! Threads of sessions: a message in the channel for each, and a public thread at it.

use crate::errors::Problem;
use crate::message::MessageBody;
use crate::shared::DiscordBot;
use countersign_port::{Posting, SendError, SessionThread, Target};
use serde_json::json;

/// The longest name of a thread, in characters.
const NAME: usize = 100;
/// After so many minutes without a message Discord archives a thread by itself: a week, which is
/// the longest.
const ARCHIVED_AFTER: u32 = 10_080;

impl DiscordBot {
    /// Makes a thread, or opens the one that is there again.
    // The thread has the id of its message, and Discord knows the message's nonce for some minutes:
    // whichever step an earlier try came to, it is gone on with from there.
    pub(crate) async fn open_thread(
        &self,
        target: &Target,
        thread: &SessionThread,
        _: Posting,
    ) -> Result<Target, SendError> {
        if let Some(place) = &thread.place {
            let opened = self.rest.archive(&place.0, false).await;
            return opened
                .map(|()| place.clone())
                .map_err(|problem| closed_to_us(problem, &place.0));
        }
        let channel = &*self.channel(target).await?;
        let name = thread.name_within(NAME);
        let head = self.rest.post(channel, &MessageBody::head(&name, &thread.id)).await;
        let head = head.map_err(|problem| problem.send_error(channel))?;
        let body = json!({"name": name, "auto_archive_duration": ARCHIVED_AFTER});
        match self.rest.start_thread(channel, &head, body).await {
            Ok(()) => Ok(Target(head)),
            // An earlier try has made it.
            Err(problem) if problem.code() == Some(160_004) => Ok(Target(head)),
            Err(problem @ Problem::Refused { .. }) => {
                if let Err(problem) = self.rest.delete(channel, &head).await {
                    tracing::debug!(%problem, "the message of a thread that is none stays");
                }
                Err(SendError::Refused(format!(
                    "Discord channel {channel} takes no threads: {problem}; give the bot Create \
                     Public Threads and Send Messages in Threads in the channel's settings"
                )))
            }
            Err(problem) => Err(problem.send_error(channel)),
        }
    }

    /// Archives a thread.
    pub(crate) async fn close_thread(&self, thread: &SessionThread) -> Result<(), SendError> {
        let Some(place) = &thread.place else { return Ok(()) };
        let closed = self.rest.archive(&place.0, true).await;
        match closed.map_err(|problem| closed_to_us(problem, &place.0)) {
            Err(SendError::ThreadGone(_)) => Ok(()),
            closed => closed,
        }
    }
}

/// What keeps the bot from opening or archiving a thread: it is gone, or others locked it.
fn closed_to_us(problem: Problem, thread: &str) -> SendError {
    match &problem {
        Problem::Refused { .. } => {
            SendError::ThreadGone(format!("Discord thread {thread}: {problem}"))
        }
        _ => problem.send_error(thread),
    }
}
