//! `/v1/history`: closed asks.

use crate::wire::asks::AskView;
use crate::{By, Decision, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The query of `GET /v1/history`. Where several fields are given, all must fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HistoryQuery {
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The folder, or one above it; without a `/` at its start, the last part of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The tool, whatever the case of its letters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Who decided: a part of their name, or their whole id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// `allow`, `deny`, `expired` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// A part of a rule that asked, or that the answer stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// A part of the title, the arguments, the reasons or the note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Closed at this time or later, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Closed at this time or earlier, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// How many asks the page has at most: 1 to 200; 50 where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u32>")]
    pub limit: Option<String>,
}

/// A page of closed asks, latest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryPage {
    /// The asks.
    pub asks: Vec<HistoryEntry>,
    /// How many closed asks this request looked at. A page ends after some thousand of them, with
    /// few or no asks, and the next one goes on behind them.
    pub scanned: usize,
    /// The `before` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A closed ask in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// Its id.
    pub id: String,
    /// When it was opened, RFC 3339.
    pub created: String,
    /// When it was closed, RFC 3339.
    pub closed: String,
    /// The call's agent.
    pub agent: String,
    /// The call's session.
    pub session: String,
    /// The call's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The call's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The call's tool.
    pub tool: String,
    /// The first line of its card.
    pub title: String,
    /// Whether the call was critical.
    pub critical: bool,
    /// How it ended.
    pub verdict: HistoryVerdict,
    /// What was decided.
    pub decision: Decision,
    /// What an approval covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Who decided.
    pub by: By,
    /// Who decided with them, where several people had to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<By>,
    /// Through what a person decided: the name of a platform, `inbox` or `api`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Who decided and why, in one sentence.
    pub reason: String,
    /// The approver's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The rules that the answer stored, as people read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<String>,
    /// Who undid it, so that these rules are revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<By>,
}

/// How a closed ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[must_use]
pub enum HistoryVerdict {
    /// It was approved, with a change or as it was submitted, or its questions were answered.
    Allow,
    /// It was denied.
    Deny,
    /// Nobody answered in time.
    Expired,
    /// Its caller cancelled it.
    Cancelled,
}

/// An ask in whole, open or closed, with its card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskRecord {
    /// The ask.
    #[serde(flatten)]
    pub ask: AskView,
    /// When it was closed, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// Whether the call is critical.
    pub critical: bool,
    /// Through what a person decided: the name of a platform, `inbox` or `api`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// The rules that the answer stored, as people read them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<String>,
    /// Who undid it, so that these rules are revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<By>,
    /// Where it is shown, or should be.
    pub deliveries: Vec<DeliveryView>,
}

/// A target of an ask's card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryView {
    /// The adapter's name.
    pub adapter: String,
    /// The target, in the adapter's spelling.
    pub target: String,
    /// Whether it has been shown there.
    pub shown: bool,
    /// Why the target does not take it at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
}

impl HistoryVerdict {
    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl std::str::FromStr for HistoryVerdict {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::Allow, Self::Deny, Self::Expired, Self::Cancelled];
        all.into_iter()
            .find(|verdict| verdict.word() == word)
            .ok_or_else(|| format!("`{word}` is no verdict; say allow, deny, expired or cancelled"))
    }
}
