//! Runs that wait without a process: their agent ended it while a person is asked about a call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a parked run was, and what starts it again.
// The words may hold what its person wrote there, so they are shown to nobody but who resumes it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// A proof of who chose these words and this folder: an HMAC with the key of an installation.
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

    /// What its seal covers: what would be started, and where. The lengths come with each text, as
    /// JSON.
    #[must_use]
    pub fn start(&self) -> String {
        serde_json::json!([self.cwd, self.words]).to_string()
    }
}

/// Why a second call of a run does not park it.
#[must_use]
pub fn one_at_a_time(other: &str) -> String {
    format!("parked: one at a time. This run waits for the answer to {other}; make this call later")
}
