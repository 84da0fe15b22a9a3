//! A closed ask as a digest sees it.

use super::super::{
    ask::{Ask, By, Decision, State},
    call::Call,
};
use countersign_policy::Rule;
use countersign_tokens::digest;
use serde_json::json;

/// How an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskEnd {
    /// A person approved the call as it was submitted.
    Approved,
    /// A person approved another call in its place.
    Edited,
    /// A person answered its questions.
    Answered,
    /// A person denied it.
    Denied,
    /// Nobody answered in time.
    TimedOut,
    /// A rule or grant that came to cover it.
    ByRule,
    /// Its caller cancelled it.
    Cancelled,
}

/// A closed ask.
#[derive(Debug, Clone)]
pub(super) struct ClosedAsk {
    pub(super) end: AskEnd,
    /// How long it was open; milliseconds.
    pub(super) open_ms: i64,
    /// Who decided, where people did.
    pub(super) people: Vec<String>,
    /// The rule that asked.
    pub(super) rule: Option<String>,
    /// What Always would have stored.
    pub(super) always: Vec<Rule>,
    /// What Always would have stored for this very call.
    pub(super) exact: Vec<Rule>,
    /// Why no rule may save it, whatever the rules are; `None` where one may.
    pub(super) never: Option<&'static str>,
    pub(super) call: Call,
    /// The same for calls of one tool with the same arguments in one folder, whoever made them.
    pub(super) same: String,
    /// The first line of its card.
    pub(super) title: String,
    /// Whether the readers of the digest may be told of it.
    pub(super) is_told: bool,
}

const CRITICAL: &str = "These calls are critical: they ask every time, whatever a rule says.";
const QUESTION: &str = "Questions are answered by people.";
const NO_CALL: &str = "No agent made this call.";
pub(super) const ANSWER_RULE: &str = "An answer rule says who answers these calls.";

impl ClosedAsk {
    /// What a digest needs of an ask; `None` for an open one and for a review.
    pub(super) fn of(ask: &Ask, title: String, is_told: bool) -> Option<Self> {
        let (body, answer) = (&ask.body, ask.answer()?);
        // Its call was never kept waiting.
        if body.review.is_some() {
            return None;
        }
        let never = match () {
            () if ask.is_question() => Some(QUESTION),
            () if body.is_no_call() => Some(NO_CALL),
            () if body.critical => Some(CRITICAL),
            () if !body.requirements.is_empty() => Some(ANSWER_RULE),
            () => None,
        };
        let by_person = matches!(answer.by, By::Person { .. });
        let names = answer.with.iter().chain([&answer.by]).filter_map(name);
        Some(Self {
            end: end(&ask.state, answer.decision, &answer.by),
            open_ms: answer.at.saturating_sub(ask.created_at).max(0),
            people: if by_person { names.collect() } else { Vec::new() },
            rule: body.rule.clone(),
            always: body.always.clone(),
            exact: body.exact.clone(),
            never,
            call: body.call.clone(),
            same: same(&body.call),
            title,
            is_told,
        })
    }

    /// Whether people decided.
    pub(super) fn is_by_people(&self) -> bool {
        !self.people.is_empty()
    }
}

fn same(call: &Call) -> String {
    let Call { tool, args, cwd, .. } = call;
    digest::sha256_hex(json!([tool, args, cwd]).to_string().as_bytes())
}

fn end(state: &State, decision: Decision, by: &By) -> AskEnd {
    match (state, by, decision) {
        (State::Cancelled(_), ..) | (_, By::Caller, _) => AskEnd::Cancelled,
        // Silence that approves is no person's answer either.
        (_, By::Timeout | By::NoApprover, _) => AskEnd::TimedOut,
        (_, By::Policy { .. }, _) => AskEnd::ByRule,
        (_, By::Person { .. }, Decision::Approve) => AskEnd::Approved,
        (_, By::Person { .. }, Decision::Edit) => AskEnd::Edited,
        (_, By::Person { .. }, Decision::Answer) => AskEnd::Answered,
        (_, By::Person { .. }, Decision::Deny) => AskEnd::Denied,
    }
}

fn name(by: &By) -> Option<String> {
    match by {
        By::Person { name, .. } => Some(name.clone()),
        By::Policy { .. } | By::Timeout | By::NoApprover | By::Caller => None,
    }
}
