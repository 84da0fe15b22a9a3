//! The settings of the push.

use serde::Serialize;
use std::path::PathBuf;

/// How a closed page's browser is told.
#[derive(Debug, Clone)]
pub struct PushConfig {
    /// Where subscribers and the signing key are kept; made where it is missing.
    pub file: PathBuf,
    /// What a notification shows.
    pub shows: PushShows,
    /// An address that tells the operator of a push service who sends, such as
    /// `https://approve.example`.
    pub contact: String,
}

/// What a notification shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PushShows {
    /// The first line of the request, and who asks.
    #[default]
    Line,
    /// That a request waits, and nothing of it.
    Count,
}
