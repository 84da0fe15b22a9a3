//! Why a card could not be shown.

use crate::Target;
use std::time::Duration;

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
