//! The state of the daemon, errors, and nonces.

use crate::wire::pause::PauseView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a request is refused. It changed nothing and granted nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReply {
    /// What is wrong, in one sentence.
    pub error: String,
}

/// A nonce to show a token with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NonceReply {
    /// The nonce, good once and for 30 s.
    pub nonce: String,
}

/// The state of a daemon: `GET /readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyReply {
    /// The daemon's version.
    #[serde(default)]
    pub version: String,
    /// The store.
    pub store: ReadyState,
    /// The rules file.
    pub rules: ReadyState,
    /// Every adapter, by name.
    pub adapters: BTreeMap<String, ReadyAdapter>,
    /// What people have to know, such as a chat whose presses are not received.
    pub problems: Vec<String>,
    /// The pause, where one is on: nothing is allowed until somebody resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<PauseView>,
    /// How many agents a limit has paused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paused_agents: u64,
    /// The targets at which cards are late: they wait for longer than they should to be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<ReadyLate>,
    /// What works less well than the config asks for, such as a chat in which the bot may make no
    /// threads; nothing waits for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is wrong with the key that signs the log: it changed though nobody rotated it, or its
    /// file is gone. Nothing waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_key: Option<ReadyLogKey>,
    /// What is wrong with the log: somebody else wrote to it, it cannot be sealed, or it does not
    /// reach a destination. Nothing waits for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<ReadyLogKey>,
    /// What waits for an answer; absent while the store fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<ReadyWaiting>,
    /// The version of the config file that is in force; null where there is no file. It changes
    /// with every change of the file.
    #[serde(default)]
    pub config: Option<String>,
    /// The daemon's name among those that share the store.
    pub daemon: String,
    /// Whether other daemons may use the store.
    pub shared: bool,
    /// How far the daemon's clock is ahead of the database's, in milliseconds; null where it cannot
    /// be told.
    pub clock_ahead_ms: Option<i64>,
    /// Whether the daemon is about to end.
    pub stopping: bool,
    /// The inbox's address, without its token.
    pub inbox: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What is wrong with the log, or with the key that signs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyLogKey {
    /// What is wrong, in one sentence.
    pub problem: String,
    /// How to fix it.
    pub fix: String,
}

/// What waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyWaiting {
    /// The number of open asks.
    pub asks: u64,
    /// When the oldest of them was opened, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
    /// The number of callers that wait for an answer on a connection to this daemon.
    pub callers: u64,
}

/// A target at which cards are late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyLate {
    /// The adapter's name.
    pub adapter: String,
    /// The target, in the adapter's spelling.
    pub target: String,
    /// The number of open asks that are shown nowhere there yet.
    pub cards: u64,
    /// When the oldest of them was opened, RFC 3339.
    pub since: String,
}

/// `"up"`, or what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ReadyState {
    /// It works.
    Up(Up),
    /// It does not.
    Down {
        /// What is wrong, in one sentence.
        problem: String,
        /// How to fix it.
        #[serde(default, rename = "mend", skip_serializing_if = "Option::is_none")]
        fix: Option<String>,
    },
}

/// The word `up`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Up {
    /// It works.
    Up,
}

/// The state of one adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyAdapter {
    /// `up`, `starting`, `down`, or `standby` where another daemon receives.
    pub state: String,
    /// Why it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Since when it is down, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The daemon that receives for the adapter's account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<ReadyLeader>,
}

/// The daemon that receives for a chat account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadyLeader {
    /// Its name.
    pub holder: String,
    /// Which holder it is since the first.
    pub epoch: i64,
}
