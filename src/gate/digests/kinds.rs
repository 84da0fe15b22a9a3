//! What a digest says.

use super::{super::ask::Ask, saving::RuleSuggestion, summary::AskSummary};

/// What was asked in a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskDigest {
    /// Its beginning; Unix milliseconds.
    pub since: i64,
    /// Its end, which belongs to the next one; Unix milliseconds.
    pub until: i64,
    /// Whether it looked at all asks of the time. If not, at the latest.
    pub is_complete: bool,
    /// In figures.
    pub summary: AskSummary,
    /// Which were most, those first.
    pub kinds: Vec<AskKind>,
}

/// Asks of one kind: one rule asked, and one Always would cover them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskKind {
    /// The rule that asked; `None` where none did.
    pub rule: Option<String>,
    /// What the calls have in common: what Always covers, or the tool.
    pub calls: String,
    /// How many there were.
    pub asks: usize,
    /// The narrowest rule that would have saved them, or a sentence why there is none.
    pub saving: Result<RuleSuggestion, String>,
}

/// Whose asks a digest is about, and how they are titled.
pub struct DigestScope<'a> {
    /// From when on they were closed; Unix milliseconds.
    pub since: i64,
    /// Before when; Unix milliseconds.
    pub until: i64,
    /// Whether its readers may be told of an ask.
    pub tells: &'a (dyn Fn(&Ask) -> bool + Send + Sync),
    /// The first line of an ask's card.
    pub title: fn(&Ask) -> String,
}
