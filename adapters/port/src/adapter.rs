//! What an adapter does, where it does it, and why it could not.

use crate::{Card, Lead, Presses, ReplyPiece, Signals, cut};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One account on a chat platform.
///
/// An adapter does not know its own name: the program binds the name of the [`crate::Platform`] to
/// it when it is registered, and so no press can claim to come from somewhere else.
#[crate::async_trait]
pub trait Adapter: Send + Sync {
    /// What it reports of its connection to the platform.
    fn signals(&self) -> &Signals;

    /// Whether posted messages outlive this process. Where they do not, the core posts open cards
    /// anew at every start.
    fn keeps_messages(&self) -> bool {
        true
    }

    /// How fast this target takes messages; `None` where that is no matter. Requests that come
    /// faster share messages there.
    fn pace(&self, _target: &Target) -> Option<Pace> {
        None
    }

    /// Whether somebody may see now what is posted. Only where messages do not outlive this process
    /// may the answer be no.
    fn is_watched(&self) -> bool {
        true
    }

    /// Says who leads from now on. Whatever is sent without leading has to be held back, see
    /// [`crate::SendGuard`]; an adapter of this process alone has nothing to hold back.
    fn lead(&self, _lead: Arc<dyn Lead>) {}

    /// Shows a card at a target, whole, and names the message.
    ///
    /// # Errors
    /// See [`SendError`]; the core retries as the error says.
    async fn post(
        &self,
        target: &Target,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError>;

    /// Redraws a posted card. A message that is gone or looks like this already is `Ok`.
    ///
    /// # Errors
    /// See [`SendError`].
    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError>;

    /// Which of these roles a person holds now; for votes that were cast a while ago. `None` where
    /// the platform is not asked: then the roles count that the person held when they voted.
    ///
    /// # Errors
    /// A sentence where the platform does not say: nothing is decided then.
    async fn roles_now(
        &self,
        _person: &str,
        _of: &[String],
    ) -> Result<Option<Vec<String>>, String> {
        Ok(None)
    }

    /// Reminds of a posted card, in reply to it. A platform whose cards are in sight all the time
    /// has nothing to do.
    ///
    /// # Errors
    /// See [`SendError`]; the core retries as the error says.
    async fn remind(
        &self,
        _target: &Target,
        _message: &MessageRef,
        _reminder: &Reminder,
    ) -> Result<(), SendError> {
        Ok(())
    }

    /// Says something at a target that answers nobody, such as a digest. Nobody is mentioned.
    ///
    /// # Errors
    /// See [`SendError`]; the core retries as the error says.
    async fn announce(
        &self,
        _target: &Target,
        _lines: &[Vec<ReplyPiece>],
    ) -> Result<(), SendError> {
        Err(SendError::Refused("this place shows cards and no other messages".to_owned()))
    }

    /// Makes a thread below a target, or opens the one at `thread.place` again, and says where it
    /// is. Cards are posted there as at any target, and their messages are redrawn as any other.
    /// With [`Posting::MayRepeat`] an earlier try may have made it: an adapter that can finds it,
    /// and one that cannot refuses, because nothing may be made twice.
    ///
    /// # Errors
    /// See [`SendError`]. [`SendError::Refused`]: no thread can be had there, and the cards go to
    /// the target itself. [`SendError::ThreadGone`] for a thread with a place: one is made anew.
    async fn open_thread(
        &self,
        _target: &Target,
        _thread: &SessionThread,
        _posting: Posting,
    ) -> Result<Target, SendError> {
        Err(SendError::Refused("this platform has no threads".to_owned()))
    }

    /// Closes a thread: archives it, or shows that it is over. That it is gone or closed is `Ok`.
    ///
    /// # Errors
    /// See [`SendError`]; the core tries again as the error says.
    async fn close_thread(
        &self,
        _target: &Target,
        _thread: &SessionThread,
    ) -> Result<(), SendError> {
        Ok(())
    }

    /// Shows what people have to know of the bridge itself, such as a chat where presses are not
    /// received; an empty list when all is well. A platform without a place for it shows nothing.
    fn notice(&self, _sentences: &[String]) {}

    /// Receives presses until `stop` is cancelled. Whatever ends the connection, a refused token
    /// included, is reported by [`Signals::deaf`] and tried again, because it can be put right
    /// outside.
    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken);
}

/// An adapter under its platform's name, which the program has bound to it.
#[derive(Clone)]
pub struct NamedAdapter {
    /// The platform's name, as in the config: `telegram`, `inbox`.
    pub name: &'static str,
    /// The adapter.
    pub adapter: Arc<dyn Adapter>,
}

impl Deref for NamedAdapter {
    type Target = dyn Adapter;

    fn deref(&self) -> &Self::Target {
        &*self.adapter
    }
}

impl fmt::Debug for NamedAdapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedAdapter({})", self.name)
    }
}

/// Whether a card may be at its target already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posting {
    /// Nobody has tried to post this card there.
    First,
    /// An earlier try may have arrived, though its answer was lost or its process died. A platform
    /// that knows the card's id shows it once; one that can search looks before it posts; elsewhere
    /// the card is there twice, and a press on the unknown copy redraws it (see
    /// [`crate::Receipt::card`]).
    MayRepeat,
}

/// Where cards go, in the adapter's own canonical spelling (such as `-100123/7`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Target(pub String);

/// A posted message, in the adapter's own spelling. The core stores it and compares it, no more.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageRef(pub String);

/// How many messages and edits a target takes before its platform asks to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// At once.
    pub at_once: usize,
    /// In a minute, at least 1.
    pub a_minute: u32,
}

impl Pace {
    /// How long a message is left as it is before it is edited again: half of what the target takes
    /// is left to new messages.
    #[must_use]
    pub fn between_edits(self) -> Duration {
        let share = Duration::from_secs(120) / self.a_minute.max(1);
        share.max(Duration::from_secs(2))
    }
}

/// What a reminder says, in reply to its card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// The bridge's own words; plain text, to be escaped.
    pub text: String,
    /// Whom it mentions: them and nobody else.
    pub people: Vec<Mention>,
}

/// A person whom a message mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Their lasting id on the platform.
    pub id: String,
    /// Their name, to be escaped.
    pub name: String,
}

/// A thread or topic that the core wants to have below a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionThread {
    /// An id of ours, the same at every try: 22 letters, digits, `-` and `_`.
    pub id: String,
    /// Its name, in one line. Agents choose parts of it, so an adapter shows it literally, and cuts
    /// it to what its platform takes.
    pub name: String,
    /// Where it is, once it was made.
    pub place: Option<Target>,
}

impl SessionThread {
    /// The name, cut to so many characters.
    #[must_use]
    pub fn name_within(&self, most: usize) -> String {
        cut(&self.name, most)
    }
}

/// Why a card could not be shown or redrawn. No variant ever changes a decision, and none loses a
/// card for good: what is given up is tried again when the ask changes, when the adapter reports
/// [`crate::Signals::access_changed`], and at the next start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The platform said when to come back.
    #[error("the platform asks to wait {} s", after.as_secs_f32())]
    Retry {
        /// How long nothing may be sent.
        after: Duration,
        /// To what.
        scope: RetryScope,
    },
    /// Worth another try with backoff: network, 5xx, an unreadable answer.
    #[error("{0}")]
    Transient(String),
    /// The target moved (a Telegram group became a supergroup): use the new one from now on.
    #[error("the target is now `{}`", .0.0)]
    Moved(Target),
    /// The target cannot be reached now: blocked, kicked, deleted, no permission. The card was not
    /// shown; it is kept, and posted when the target is back.
    #[error("{0}")]
    TargetGone(String),
    /// The place itself is gone or locked, such as a topic that was deleted: the thread of a
    /// session is made anew, and a place in the config is as [`SendError::TargetGone`].
    #[error("{0}")]
    ThreadGone(String),
    /// The platform refuses this card as it is now; sending the same again changes nothing.
    #[error("{0}")]
    Refused(String),
    /// Nothing can be sent at all: a refused token.
    #[error("{0}")]
    Fatal(String),
}

/// What a platform's wait covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryScope {
    /// The one target that the card went to.
    Target,
    /// Everything that is sent with this account.
    Account,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_by_characters_and_says_so() {
        let name = "é".repeat(130);
        let thread = SessionThread { id: String::new(), name: name.clone(), place: None };
        assert_eq!(thread.name_within(130), name);
        assert_eq!(thread.name_within(100), format!("{}…", "é".repeat(99)));
    }
}
