//! Why a call was not taken.

use super::{call::Malformed, limits::TooMuch};
use countersign_store::StoreError;

/// Why a call was not taken. None of these lets it run.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The caller's mistake.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The same key for another call.
    #[error(
        "the key `{0}` was used in this session for another call; a key names exactly one call"
    )]
    KeyTaken(String),
    /// The token that names the agent is missing, or not accepted any more.
    #[error("{0}")]
    NotThisAgent(String),
    /// The daemon stops, and asks nobody any more.
    #[error("this daemon stops; hand the call in again, with the same key, in a moment")]
    Stopping,
    /// The policy cannot rule on it.
    #[error("{0}")]
    Unruled(String),
    /// More than may be open at once, or faster than it may come.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// Ours.
    #[error(transparent)]
    Store(#[from] StoreError),
}
