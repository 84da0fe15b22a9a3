//! What an ask resolved to, and who decided.

use super::{Scope, call::Appeal, edit::UpdatedInput};
use crate::OnDeny;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// What an ask resolved to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Yes or no.
    pub decision: Decision,
    /// What an approval covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Which rules it stored, and what became of them.
    #[serde(flatten)]
    pub stored: StoredRules,
    /// Words for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a denial does beside denying.
    #[serde(flatten)]
    pub then: OnDeny,
    /// Answers to questions, by question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Map<String, Value>>,
    /// What may run instead of what was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated: Option<UpdatedInput>,
    /// Who decided; of several people the last.
    pub by: By,
    /// The others whose votes it took.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<By>,
    /// When, Unix milliseconds.
    pub at: i64,
    /// What became of the approved call, where its caller reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// When its caller reported that an answer at the agent itself counted there instead, Unix
    /// milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overtaken_at: Option<i64>,
    /// A machine of the agent that blocked the call although it was approved: both are facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overruled: Option<Overruled>,
    /// The late yes: where nobody answered in time, who approved the next try of the same call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<NextTry>,
}

/// A block of a call that was approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overruled {
    /// When, Unix milliseconds.
    pub at: i64,
    /// By which machine, and why.
    #[serde(flatten)]
    pub verdict: Appeal,
}

/// An approval of the next try of a call whose ask had expired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextTry {
    /// By whom.
    pub by: By,
    /// When, Unix milliseconds.
    pub at: i64,
    /// Until when it holds, Unix milliseconds.
    pub until: i64,
}

/// Which rules an answer stored, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredRules {
    /// Which of the offered rules, by their places among them; all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<usize>>,
    /// Until when the answer can be undone, Unix milliseconds; absent where nothing was stored,
    /// and once the time is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<i64>,
    /// Who revoked the rules, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
}

/// An undone answer: its rules were revoked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Undone {
    /// By whom.
    pub by: By,
    /// When, Unix milliseconds.
    pub at: i64,
}

/// What an ask came to, as a person says it. There is no default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[must_use]
pub enum Decision {
    /// The call may run.
    Approve,
    /// Its questions are answered. Nothing may run because of that.
    Answer,
    /// The call may run with the arguments that the answer holds, and only with those.
    Edit,
    /// The call may not run; or the questions are not answered.
    Deny,
}

/// Who decided, so that nobody is told that "the user" said what no user said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum By {
    /// A person.
    Person {
        /// Where they pressed: the name of a platform, `inbox` or `api`.
        platform: String,
        /// Their lasting id there.
        id: String,
        /// For people to read.
        name: String,
    },
    /// A rule or grant that came to cover the call while it waited.
    Policy {
        /// The grant, in words.
        grant: String,
    },
    /// Nobody did in time.
    Timeout,
    /// Nobody could: no card reached anyone.
    NoApprover,
    /// The caller cancelled the ask.
    Caller,
}

impl Answer {
    /// An answer with a decision and nothing else.
    #[must_use]
    pub fn new(decision: Decision, by: By, at: i64) -> Self {
        Self {
            decision,
            scope: None,
            stored: StoredRules::default(),
            reason: None,
            then: OnDeny::GoOn,
            answers: None,
            updated: None,
            by,
            with: Vec::new(),
            at,
            execution: None,
            overtaken_at: None,
            overruled: None,
            next_try: None,
        }
    }

    /// Everybody who decided, for people to read.
    #[must_use]
    pub fn deciders(&self) -> String {
        deciders(&self.by, &self.with)
    }
}

/// Somebody who decided and those who decided with them, for people to read.
#[must_use]
pub fn deciders(by: &By, with: &[By]) -> String {
    match with {
        [] => by.to_string(),
        with => {
            let others: Vec<String> = with.iter().map(By::to_string).collect();
            format!("{} and {by}", others.join(", "))
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person { platform, name, .. } if platform == "inbox" || platform == "api" => {
                f.write_str(name)
            }
            Self::Person { platform, name, .. } => write!(f, "{name} ({platform})"),
            Self::Policy { grant } => write!(f, "the grant {grant}"),
            Self::Timeout => f.write_str("the deadline"),
            Self::NoApprover => f.write_str("the deadline, with no approver reachable"),
            Self::Caller => f.write_str("its caller"),
        }
    }
}

/// An approved call that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// When, Unix milliseconds.
    pub started_at: i64,
    /// Under which id its agent started it, where that has one: see [`Call::id_at_agent`].
    ///
    /// [`Call::id_at_agent`]: crate::call::Call::id_at_agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_call: Option<String>,
    /// How it ended; absent while it runs, and where nobody reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ExecutionEnd>,
}

/// The end of a call that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionEnd {
    /// When, Unix milliseconds.
    pub at: i64,
    /// Its exit code.
    pub exit: i32,
}
