//! `/v1/digest`: what was asked in a time, and which rules would have saved asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The query of `GET /v1/digest`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// The rule that asked; absent where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What Always would cover, or the tool.
    pub calls: String,
    /// How many there were.
    pub asks: usize,
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
