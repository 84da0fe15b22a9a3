//! The domain of countersign: calls, questions, asks, answers and what they cover; the requests and
//! responses of its HTTP API ([`wire`]); the log that proves itself ([`log`]). Pure.

mod answer;
pub mod attached;
mod body;
pub mod budget;
pub mod call;
pub mod deadline;
pub mod edit;
pub mod log;
mod offers;
pub mod parked;
pub mod plan;
mod prompt_behaviour;
pub mod question;
pub mod requirement;
pub mod review;
mod scope;
pub mod votes;
pub mod wire;

pub use answer::{
    Answer, By, Decision, Execution, ExecutionEnd, NextTry, Overruled, StoredRules, Undone,
    deciders,
};
use attached::AttachedDaemons;
pub use body::{Body, LATE_YES_S, Silence};
pub use call::{Existing, Owner};
pub use countersign_policy::{Rule, Verdict, exact_json};
pub use deadline::StoppedClock;
pub use offers::OfferedPart;
pub use prompt_behaviour::{
    DefaultTimeout, GrantLifetime, OnDeny, OnDisconnect, PromptBehaviour, PromptChoice,
};
use question::Progress;
pub use scope::{GrantScope, Scope};
use votes::Vote;

/// A call or question that waits, or waited, for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Its short public id.
    pub id: String,
    /// The call and the ruling on it; never changes.
    pub body: Body,
    /// SHA-256 of the call.
    pub digest: String,
    /// Open, or how it ended.
    pub state: State,
    /// What has been answered of its questions.
    pub progress: Progress,
    /// How many of its steps are done.
    pub steps_done: usize,
    /// The votes so far, where several people have to agree.
    pub votes: Vec<Vote>,
    /// Counts every change.
    pub version: i64,
    /// Whether its caller waits on a connection.
    pub attended: bool,
    /// The daemons at which its callers wait.
    pub attached: AttachedDaemons,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Unix milliseconds; `None` waits for ever.
    pub deadline_at: Option<i64>,
    /// What is left of its deadline, while everything is paused.
    pub stopped: Option<StoppedClock>,
}

/// Open, or how an ask ended. The answer is there exactly when it is no longer open.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Waits for a person.
    Open,
    /// A person, or a grant, decided.
    Answered(Answer),
    /// Nobody did in time.
    Expired(Answer),
    /// Its caller cancelled it.
    Cancelled(Answer),
}

impl Ask {
    /// An ask as it is opened: nobody waits for it yet, and it has no deadline.
    #[must_use]
    pub fn opened(
        id: impl Into<String>,
        digest: impl Into<String>,
        body: Body,
        created_at: i64,
    ) -> Self {
        Self {
            id: id.into(),
            body,
            digest: digest.into(),
            state: State::Open,
            progress: Progress::default(),
            steps_done: 0,
            votes: Vec::new(),
            version: 1,
            attended: false,
            attached: AttachedDaemons::default(),
            created_at,
            deadline_at: None,
            stopped: None,
        }
    }

    /// Whether it still waits.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Whether it asks questions rather than for permission.
    #[must_use]
    pub fn is_question(&self) -> bool {
        !self.body.call.questions.is_empty()
    }

    /// Whether a person may approve the next try of its call, now that nobody answered in time.
    // SECURITY: what is critical takes its second step at the time, a question its answers, and an
    // ask that wants several people gets no yes from one.
    #[must_use]
    pub fn takes_next_try(&self) -> bool {
        let unanswered = match &self.state {
            State::Expired(answer) => {
                answer.decision == Decision::Deny && answer.next_try.is_none()
            }
            State::Open | State::Answered(_) | State::Cancelled(_) => false,
        };
        let plain = !self.body.critical && !self.body.is_no_call() && !self.body.takes_votes();
        unanswered && plain && !self.is_question()
    }

    /// What it comes to as it is now, when nobody answers.
    // FAIL-CLOSED: who has proposed a change of a call does not want it as it was submitted.
    #[must_use]
    pub fn silence(&self) -> Silence {
        if self.progress.edit.is_some() { Silence::Deny } else { self.body.silence }
    }

    /// Its answer, once it has one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        self.state.answer()
    }
}

impl State {
    /// The answer, once there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Open => None,
            Self::Answered(answer) | Self::Expired(answer) | Self::Cancelled(answer) => {
                Some(answer)
            }
        }
    }

    /// The state's name on the wire and in the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered(_) => "answered",
            Self::Expired(_) => "expired",
            Self::Cancelled(_) => "cancelled",
        }
    }
}
