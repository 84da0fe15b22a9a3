//! The reply to an attempt to answer: what really happened, in one word and one sentence.

use super::{
    answer::Refusal,
    ask::{Answer, Ask, Decision, Scope, State},
};
use countersign_profiles::{GrantLifetime, OnDeny};
use countersign_store::StoreError;
use countersign_tokens::clock;

/// What really happened to an attempt to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// In one word.
    pub told: Told,
    /// In one sentence, for the one who tried.
    pub sentence: String,
    /// The ask as it is now, if the one who tried may see it.
    pub ask: Option<Ask>,
}

/// What really happened, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Told {
    /// This attempt answered the ask.
    Applied,
    /// Noted; the ask is still open.
    Noted,
    /// Noted as a vote; more people have to answer.
    Voted,
    /// Free text is wanted.
    TextWanted,
    /// Somebody was first.
    Already,
    /// The deadline had passed.
    Expired,
    /// The caller had cancelled the ask.
    Cancelled,
    /// The one who tried may not answer.
    NotAllowed,
    /// There is no such ask.
    Unknown,
    /// It cannot be done to this ask.
    Unfit,
    /// It could not be recorded, or nobody knows whether it was; see [`fault_sentence`].
    Fault,
}

/// What somebody is told whose attempt met an error of the store.
// INVARIANT: "nothing changed" is said only where it is certain.
#[must_use]
pub fn fault_sentence(error: &StoreError) -> &'static str {
    match error {
        StoreError::Uncertain(_) => {
            "Connection to the database lost. Press again to see whether your answer was recorded."
        }
        error if error.is_of_a_row() => {
            "This ask is damaged in the store, so nobody can answer it."
        }
        _ => "This could not be recorded; nothing changed. Try again.",
    }
}

/// The reply to an attempt that changes nothing.
pub(super) fn refuse(ask: Ask, refusal: &Refusal) -> Reply {
    let told = match (refusal, &ask.state) {
        (Refusal::Unfit(_), _) => Told::Unfit,
        (Refusal::Over(_), _) => Told::Expired,
        (Refusal::Late(_), _) | (Refusal::Closed(_), State::Expired(_)) => Told::Expired,
        (Refusal::Closed(_), State::Cancelled(_)) => Told::Cancelled,
        (Refusal::Closed(_), _) => Told::Already,
    };
    reply(told, &refusal.to_string(), Some(ask))
}

/// What a grant allows, in words.
pub(super) fn words(ask: &Ask) -> String {
    ask.answer().map(|answer| ask.body.stored(answer).join(", ")).unwrap_or_default()
}

/// What an answer did, for the one who gave it.
pub(super) fn applied_sentence(ask: &Ask, answer: &Answer) -> String {
    if ask.body.resumes.is_some() {
        return match answer.decision {
            Decision::Approve => "Resumed: its calls are taken again.".to_owned(),
            _ => {
                let name = &ask.body.call.agent;
                format!("It stays paused. `countersign token resume {name}` resumes it.")
            }
        };
    }
    if let (Some(budget), Decision::Approve) = (&ask.body.call.budget, answer.decision) {
        let (many, time) = (budget.calls.len(), lasting(budget.for_s));
        return format!("Approved: each of these {many} may run once, for {time}.");
    }
    match (answer.decision, answer.scope) {
        (Decision::Deny, _) if ask.is_question() => "Declined; the agent is told so.".to_owned(),
        (Decision::Deny, _) => match answer.then {
            OnDeny::GoOn if answer.reason.is_some() => "Denied; the agent reads your words.",
            OnDeny::GoOn => "Denied.",
            OnDeny::Stop => "Denied; the agent is told to stop.",
            OnDeny::Explain => "Denied; the agent is told to explain itself.",
        }
        .to_owned(),
        (Decision::Answer, _) => "Answered.".to_owned(),
        (Decision::Edit, _) => "Approved with the change.".to_owned(),
        (Decision::Approve, Some(Scope::Always | Scope::Exact | Scope::Prefix))
            if ask.body.lasts == GrantLifetime::Durable =>
        {
            format!("Approved, and always from now on: {}.", words(ask))
        }
        (
            Decision::Approve,
            Some(Scope::Session | Scope::Always | Scope::Exact | Scope::Prefix),
        ) => {
            format!("Approved, and for the rest of this session: {}.", words(ask))
        }
        (Decision::Approve, Some(Scope::Timed(seconds))) => {
            let time = clock::span(i64::from(seconds) * 1000);
            format!("Approved, and for {time} in this session: {}.", words(ask))
        }
        (Decision::Approve, _) if answer.reason.is_some() => {
            "Approved once, with your note.".to_owned()
        }
        (Decision::Approve, _) => "Approved once.".to_owned(),
    }
}

/// How long a budget lasts.
pub fn lasting(seconds: u64) -> String {
    clock::span(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000))
}

pub(super) fn reply(told: Told, sentence: &str, ask: Option<Ask>) -> Reply {
    Reply { told, sentence: sentence.to_owned(), ask }
}
