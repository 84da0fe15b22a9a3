//! `/v1/asks`: asks and answers to them.

use crate::wire::verdict::CallVerdict;
use crate::{By, Decision, Scope, call::Call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskView {
    /// Its id.
    pub id: String,
    /// Open, or how it ended.
    pub state: AskState,
    /// The call as it was submitted.
    pub call: Call,
    /// SHA-256 of the call: an answer is bound to it.
    pub digest: String,
    /// Why a person is asked.
    pub why: String,
    /// When it was opened, RFC 3339.
    pub created: String,
    /// When it expires, RFC 3339; absent where it waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// The caller's own data, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// The rules that Always would store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<String>,
    /// What the call touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// What became of the call; absent while the ask is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CallVerdict>,
    /// Who decided and why, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What somebody wants the call to be instead; it counts once it is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<EditView>,
    /// Whose answers it needs, where not everybody's counts or one is not enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<RequirementView>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
    /// The text for the agent's model, where its system has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The card as people see it, where the request says `card=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Value>,
    /// The call that ran without asking, where the ask is a review of it: `approve` says that this
    /// was fine, and `deny` that it should have asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewView>,
}

/// A call that ran without asking, and is shown to people afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewView {
    /// The agent whose call it was.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// When it was allowed, RFC 3339.
    pub at: String,
    /// What let it run.
    pub through: String,
    /// What a denial does, in one sentence.
    pub tightens: String,
}

/// Whose answers an ask needs, and who has voted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementView {
    /// The rule behind it.
    pub rule: String,
    /// The group whose members count; everybody who may answer where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How many have to approve.
    pub approvals: usize,
    /// The names of those who have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<String>,
    /// How many denials deny.
    pub denials: usize,
    /// The names of those who have denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
}

/// A proposed edit of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditView {
    /// All arguments as they would be.
    pub args: Value,
    /// SHA-256 of the call with them: its approval names it.
    pub digest: String,
    /// Who proposed it.
    pub by: String,
    /// What the changed call touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// Whether the changed call is critical.
    pub critical: bool,
}

/// Whether an ask is open, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskState {
    /// It waits for a person.
    Open,
    /// A person, or a grant, decided.
    Answered,
    /// Nobody did in time.
    Expired,
    /// Its caller cancelled it.
    Cancelled,
}

/// The answer to an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerView {
    /// What was decided.
    pub decision: Decision,
    /// What an approval covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The approver's words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the agent ends its turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// Whether the agent explains itself and does not try again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// Answers to questions, by question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Map<String, Value>>,
    /// The arguments that may run instead of those that were submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Value>,
    /// SHA-256 of the call with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_digest: Option<String>,
    /// Who decided; of several people the last.
    pub by: By,
    /// The others whose votes it took.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<By>,
    /// When, RFC 3339.
    pub at: String,
    /// When its caller reported that an answer at the agent itself counted there instead, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overtaken: Option<String>,
}

/// A page of asks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AsksPage {
    /// The asks.
    pub asks: Vec<AskView>,
    /// The `after` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The query of `GET /v1/asks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct AsksQuery {
    /// `open`, `answered`, `expired` or `cancelled`; open ones where absent.
    pub state: Option<String>,
    /// The ask after which the page begins.
    pub after: Option<String>,
    /// Whether the asks come with their cards.
    #[serde(default)]
    pub card: bool,
}

/// The query of requests that wait for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct WaitQuery {
    /// How long the request is held, in seconds; 60 at most.
    pub wait: Option<u64>,
    /// Whether the ask comes with its card.
    #[serde(default)]
    pub card: bool,
}

/// An answer that somebody gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// What is decided.
    pub decision: Decision,
    /// What an approval covers; this call alone where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Which of the rules of `always` are stored, by their places, from 1; all where absent. With
    /// the scope `always` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<usize>>,
    /// Words for the agent: why a call is denied, or a note with an approval of this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the agent ends its turn; of a denial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// Whether the agent explains itself and does not try again; of a denial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// Whether the agent leaves out this call alone and goes on, where a plain denial ends its
    /// turn; of a denial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip: bool,
    /// Answers to the ask's questions, by question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Map<String, Value>>,
    /// With `edit`: the text that the call is to have instead. It is shown first; `digest`
    /// approves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<String>,
    /// With `edit`: the digest of the proposed edit that is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerReply {
    /// Whether this answer closed the ask.
    pub applied: bool,
    /// The ask's state now.
    pub state: AskState,
    /// Who decided, once somebody has.
    pub by: Option<By>,
    /// What happened, in one sentence.
    pub message: String,
    /// The edit that is proposed now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<EditView>,
}

/// A caller takes its ask back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelRequest {
    /// Why; `aborted` where absent.
    #[schemars(with = "Option<CancelReason>")]
    pub reason: Option<String>,
}

/// Why a caller takes its ask back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// Somebody answered at the agent itself.
    AnsweredElsewhere,
    /// The agent's session ended.
    SessionEnded,
    /// The agent gave it up.
    Aborted,
}

impl AnswerRequest {
    /// An approval or denial without further fields.
    #[must_use]
    pub fn new(decision: Decision) -> Self {
        let (scope, rules, reason, answers, edit, digest) = (None, None, None, None, None, None);
        let (stop, explain, skip) = (false, false, false);
        Self { decision, scope, rules, reason, stop, explain, skip, answers, edit, digest }
    }
}

impl CancelReason {
    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::AnsweredElsewhere => "answered_elsewhere",
            Self::SessionEnded => "session_ended",
            Self::Aborted => "aborted",
        }
    }
}

impl std::str::FromStr for CancelReason {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::AnsweredElsewhere, Self::SessionEnded, Self::Aborted];
        all.into_iter().find(|reason| reason.word() == word).ok_or_else(|| {
            format!("`{word}` is no reason; say answered_elsewhere, session_ended or aborted")
        })
    }
}
