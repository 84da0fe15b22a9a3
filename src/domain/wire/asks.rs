//! Asks, their events and their history.

use crate::{By, Decision, Scope, call::Call, wire::calls::CallVerdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

// `/v1/asks`: asks and answers to them.

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
    /// The agent's own machine that blocked the call although it was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<OverruledView>,
}

/// An approved call that did not run: a machine of its agent blocked it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverruledView {
    /// When it was reported, RFC 3339.
    pub at: String,
    /// Which machine, such as `Claude Code's auto mode`.
    pub by: String,
    /// Why, in its own words.
    pub reason: String,
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
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
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
    /// Whether an approval is a late yes: of the next try of a call that nobody answered in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub next_try: bool,
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
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// Why; `aborted` where absent.
    #[schemars(with = "Option<CancelReason>")]
    pub reason: Option<String>,
    /// With `refused`: why the agent does not carry out the approval, for its card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
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
    /// The agent does not let run what a person released after a machine had blocked it: the
    /// approval is revoked.
    Refused,
}

impl AnswerRequest {
    /// An approval or denial without further fields.
    #[must_use]
    pub fn new(decision: Decision) -> Self {
        Self {
            decision,
            scope: None,
            rules: None,
            reason: None,
            stop: false,
            explain: false,
            skip: false,
            next_try: false,
            answers: None,
            edit: None,
            digest: None,
        }
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
            Self::Refused => "refused",
        }
    }
}

impl std::str::FromStr for CancelReason {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let all = [Self::AnsweredElsewhere, Self::SessionEnded, Self::Aborted, Self::Refused];
        all.into_iter().find(|reason| reason.word() == word).ok_or_else(|| {
            format!(
                "`{word}` is not a valid reason; use answered_elsewhere, session_ended, aborted or \
                 refused"
            )
        })
    }
}

// `GET /v1/events`: the data of server-sent events.

/// The query of `GET /v1/events`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Begins with so many of the latest events, and with no open asks.
    pub last: Option<u32>,
    /// `false` ends the stream after the events that are there; it goes on where absent.
    pub follow: Option<bool>,
    /// `true` also sends what only the log shows: `allowed`, `shown`, `config`, `rules`, `forgot`.
    pub all: Option<bool>,
}

/// Something that happened. The name of the event says what. Two names have other data: `ask` (the
/// open asks that a new reader gets first) an [`AskView`], `forgotten` a [`ForgottenView`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// The event's own id, which counts up.
    pub id: i64,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// The particulars.
    pub data: Value,
    /// The ask as it is now, where the event is about one.
    pub ask: Option<AskView>,
}

/// Says that events after `Last-Event-ID` are no longer kept: every open ask follows, then the
/// events that are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenView {
    /// The same in a sentence.
    pub message: String,
}

// `/v1/history`: closed asks.

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
    /// The agent's own machine that blocked the call although it was approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<OverruledView>,
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
        all.into_iter().find(|verdict| verdict.word() == word).ok_or_else(|| {
            format!("`{word}` is not a valid verdict; use allow, deny, expired or cancelled")
        })
    }
}
