//! The daemon: its state, pause, reload, log and digests.

use crate::{By, deadline::PauseMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

// The state of the daemon, errors, and nonces.

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
    /// The agents to whose own servers the daemon is connected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<String>,
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
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

// `/v1/pause` and `/v1/resume`: the kill switch.

/// Switches the pause on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// What becomes of calls; they are held where absent.
    #[serde(default)]
    pub mode: PauseMode,
}

/// A pause that is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseView {
    /// What becomes of calls.
    pub mode: PauseMode,
    /// Who switched it on.
    pub by: By,
    /// Since when, RFC 3339.
    pub since: String,
}

/// What became of switching the pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseReply {
    /// Whether this request switched it.
    pub switched: bool,
    /// What happened, in one sentence.
    pub message: String,
}

// `/v1/reload`: a changed config.

/// The config that was put in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadReply {
    /// What happened, in one or two sentences.
    pub message: String,
    /// The changed keys that take effect at the next start only, such as `daemon.listen`.
    pub restart: Vec<String>,
}

// `/v1/log`: the log that proves itself.

/// The query of `GET /v1/log`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogQuery {
    /// Begins behind this row; absent: with the first that is kept.
    pub after: Option<i64>,
    /// Ends with the newest checkpoint up to this row; absent: with the newest of all.
    pub until: Option<i64>,
}

/// A change of the key that signs the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogKeyRequest {
    /// Which.
    pub change: LogKeyChange,
}

/// What becomes of the key that signs the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogKeyChange {
    /// The daemon makes another one; the old one signs that it did.
    Rotate,
    /// The one that signs now is accepted, though nobody rotated it.
    Accept,
}

/// The key that signs the log from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogKeyReply {
    /// Its public half, in hex.
    pub key: String,
}

/// A page of the log, as lines of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogReply {
    /// The first line of an export up to that checkpoint.
    pub header: String,
    /// The lines of this page, in order.
    pub lines: Vec<String>,
    /// The value of `after` for the next page; absent behind the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
    /// The public key with which this daemon signs, in hex.
    pub key: String,
}

// `/v1/digest`: what was asked in a time, and which rules would have saved asks.

/// The query of `GET /v1/digest`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DigestQuery {
    /// Of asks that were closed at this time or later, RFC 3339; absent: in the last 7 days.
    pub since: Option<String>,
}

/// What was asked in a time. Nothing is changed by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DigestReply {
    /// Its beginning, RFC 3339.
    pub since: String,
    /// Its end, RFC 3339.
    pub until: String,
    /// Whether it counts all asks of the time. If not, the latest.
    pub complete: bool,
    /// How many asks were closed.
    pub asks: usize,
    /// How many calls people approved.
    pub approved: usize,
    /// How many questions people answered.
    pub answered: usize,
    /// How many people denied.
    pub denied: usize,
    /// How many were closed by their deadlines.
    pub timed_out: usize,
    /// How many a rule or grant came to cover while they waited.
    pub by_rule: usize,
    /// How many their callers cancelled.
    pub cancelled: usize,
    /// About how many calls that a machine had blocked people decided.
    #[serde(default)]
    pub appeals: usize,
    /// How many of those they released.
    #[serde(default)]
    pub overruled: usize,
    /// Half of what people answered took at most so long; absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<i64>,
    /// Nine of ten took at most so long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ms: Option<i64>,
    /// Who answered how many, those who answered most first.
    pub people: Vec<DigestPerson>,
    /// Which calls were asked about most, those first.
    pub kinds: Vec<DigestKind>,
    /// The digest as people read it in a chat.
    pub lines: Vec<String>,
}

/// Somebody who answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DigestPerson {
    /// For people to read.
    pub name: String,
    /// How many asks they answered.
    pub answers: usize,
}

/// Asks of one kind: one rule asked, and one Always would cover them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DigestKind {
    /// The rule that asked; absent where none did. Of calls that a machine had blocked, the machine,
    /// and its rule in brackets where it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What Always would cover, or the tool; the call itself where a machine had blocked it.
    pub calls: String,
    /// How many there were.
    pub asks: usize,
    /// How many of them a machine had blocked and people released.
    #[serde(default)]
    pub overruled: usize,
    /// The narrowest rule that would have saved them; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<DigestSuggestion>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// A rule that would have saved asks, or several that together would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DigestSuggestion {
    /// The tool of the rule.
    pub tool: String,
    /// Its pattern.
    pub pattern: String,
    /// The rule as a line of the rules file; absent where it is not safe as one. Then Always on the
    /// next card stores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The further rules that it takes, for calls with several commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<SuggestedRule>,
    /// How many asks it would have saved that people approved.
    pub saves: usize,
    /// The different calls that it covers, as far as they were asked about, most asked first.
    pub covers: Vec<CoveredCallView>,
}

/// A further rule that a suggestion takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestedRule {
    /// The tool of the rule.
    pub tool: String,
    /// Its pattern.
    pub pattern: String,
    /// The rule as a line of the rules file; absent where it is not safe as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// A call that a suggested rule covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoveredCallView {
    /// The first line of its card.
    pub title: String,
    /// How often it was asked about.
    pub asks: usize,
    /// How often people approved it.
    pub approved: usize,
}
