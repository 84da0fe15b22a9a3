//! Runs that wait without a process: their agent ended it while a person is asked about a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a parked run was, and what starts it again.
// The words may hold what its person wrote there, so they are shown to nobody but who resumes it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkedRun {
    /// The machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The folder in which it was started.
    pub cwd: String,
    /// The file with its conversation, from which its agent goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// The program and its options; empty where they are not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// After how many seconds a call that needs a person parks it again.
    pub after_s: u64,
    /// A proof of who chose this run for this ask: an HMAC with the key of an installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

// SECURITY: no log shows the words.
impl std::fmt::Debug for ParkedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, cwd, transcript, words: _, after_s, seal: _ } = self;
        f.debug_struct("ParkedRun")
            .field("host", host)
            .field("cwd", cwd)
            .field("transcript", transcript)
            .field("after_s", after_s)
            .finish_non_exhaustive()
    }
}

impl ParkedRun {
    /// The same without the words that start it, and the proof of who wrote them.
    #[must_use]
    pub fn without_words(self) -> Self {
        Self { words: Vec::new(), seal: None, ..self }
    }

    /// What the seal of a run covers that may park itself: what was started, and where.
    #[must_use]
    pub fn start(&self) -> String {
        serde_json::json!([self.cwd, self.words]).to_string()
    }

    /// What the seal of a parked run covers: all of it, its ask and its session. No other ask can
    /// be parked with it, and no other session resumed.
    #[must_use]
    pub fn parked_for(&self, ask: &str, session: &str) -> String {
        let Self { host, cwd, transcript, words, after_s, seal: _ } = self;
        serde_json::json!([ask, session, host, cwd, transcript, words, after_s]).to_string()
    }
}

/// Why a second call of a run does not park it.
#[must_use]
pub fn one_at_a_time(other: &str) -> String {
    format!("parked: one at a time. This run waits for the answer to {other}; make this call later")
}
