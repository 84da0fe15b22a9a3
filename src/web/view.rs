//! Asks and decisions in the API's types.

use countersign_domain::wire::{
    AnswerView, AskState, AskView, CallReply, CallVerdict, EditView, RequirementView, ReviewView,
};
use countersign_gate::{
    Gate,
    ask::{
        Answer, Ask, Decision, State, edit::ProposedEdit, requirement::Requirement,
        review::CallReview, votes::Vote,
    },
};
use countersign_policy::{self as policy, Verdict};
use countersign_profiles::OnDeny;
use countersign_tokens::clock;

/// The ask. `verdict` and `reason` are set once it is closed.
#[must_use]
pub fn view(ask: &Ask) -> AskView {
    let body = &ask.body;
    let answer = ask.answer();
    AskView {
        id: ask.id.clone(),
        state: state(&ask.state),
        call: body.call.clone(),
        digest: ask.digest.clone(),
        why: body.why.clone(),
        created: clock::rfc3339(ask.created_at),
        deadline: ask.deadline_at.map(clock::rfc3339),
        meta: body.call.meta.clone(),
        always: body.always.iter().map(ToString::to_string).collect(),
        effects: body.effects.clone(),
        verdict: answer.map(verdict),
        reason: answer.map(|answer| reason(ask, answer)),
        edit: ask.progress.edit.as_ref().filter(|_| ask.is_open()).map(edit_view),
        needs: body.requirements.iter().map(|it| requirement_view(it, &ask.votes)).collect(),
        answer: answer.map(answer_view),
        message: None,
        card: None,
        review: body.review.as_deref().map(review_view),
    }
}

/// The call that an ask reviews.
fn review_view(review: &CallReview) -> ReviewView {
    ReviewView {
        agent: review.agent.clone(),
        session: review.session.clone(),
        at: clock::rfc3339(review.at),
        through: review.through.clone(),
        tightens: review.tightening.promise(),
    }
}

/// The ask with the text for the agent's model.
pub(super) fn view_for_agent(gate: &Gate, ask: &Ask) -> AskView {
    AskView { message: gate.text_for_model(ask), ..view(ask) }
}

/// The reply to a call that policy decided.
pub(super) fn decided(ruling: &policy::Decision, message: Option<String>) -> CallReply {
    let verdict = match ruling.verdict {
        Verdict::Allow => CallVerdict::Allow,
        Verdict::Ask => CallVerdict::Ask,
        Verdict::Deny => CallVerdict::Deny,
    };
    CallReply {
        verdict,
        reason: Some(ruling.reason.clone()),
        rule: ruling.rule.clone(),
        ask: None,
        state: None,
        answer: None,
        message,
    }
}

/// The reply to a call that became an ask.
pub(super) fn asked(gate: &Gate, ask: &Ask) -> CallReply {
    let answer = ask.answer();
    CallReply {
        verdict: answer.map_or(CallVerdict::Ask, verdict),
        reason: answer.map(|answer| reason(ask, answer)),
        rule: None,
        ask: Some(ask.id.clone()),
        state: Some(state(&ask.state)),
        answer: answer.map(answer_view),
        message: answer.and_then(|_| gate.text_for_model(ask)),
    }
}

pub(super) fn state(state: &State) -> AskState {
    match state {
        State::Open => AskState::Open,
        State::Answered(_) => AskState::Answered,
        State::Expired(_) => AskState::Expired,
        State::Cancelled(_) => AskState::Cancelled,
    }
}

/// Names who decided, for the agent; "the user" appears only if a user decided.
pub(super) fn reason(ask: &Ask, answer: &Answer) -> String {
    let why = answer.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    match (&ask.state, answer.decision) {
        (State::Expired(_), _) if ask.body.review.is_some() => "nobody reviewed it".to_owned(),
        (State::Answered(_), decision) if ask.body.review.is_some() => {
            let said = if decision == Decision::Deny { "should have asked" } else { "fine" };
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            format!("{said}, says {}{why}", answer.deciders())
        }
        (State::Expired(_), _) if ask.takes_next_try() => {
            let ended = why.unwrap_or("nobody answered in time");
            format!("{ended}; a person may still approve the next try of exactly this call")
        }
        (State::Expired(_), _) => why.unwrap_or("nobody answered in time").to_owned(),
        (State::Cancelled(_), _) => format!("cancelled: {}", why.unwrap_or("its caller left")),
        (_, Decision::Answer) => format!("answered by {}", answer.deciders()),
        (_, Decision::Edit) => format!("approved with a change by {}", answer.deciders()),
        (_, Decision::Approve) => match why {
            Some(note) => format!("approved by {}: {note}", answer.deciders()),
            None => format!("approved by {}", answer.deciders()),
        },
        (_, Decision::Deny) => match why {
            Some(why) => format!("denied by {}: {why}", answer.deciders()),
            None => format!("denied by {}", answer.deciders()),
        },
    }
}

fn verdict(answer: &Answer) -> CallVerdict {
    match answer.decision {
        Decision::Approve => CallVerdict::Allow,
        // SECURITY: never `allow`, so that no client takes the answer to a question for permission
        // to run.
        Decision::Answer => CallVerdict::Answered,
        // SECURITY: nor is a changed call allowed as it was submitted.
        Decision::Edit => CallVerdict::Edited,
        Decision::Deny => CallVerdict::Deny,
    }
}

pub(super) fn edit_view(edit: &ProposedEdit) -> EditView {
    let ProposedEdit { args, digest, by, effects, critical, .. } = edit.clone();
    EditView { args, digest, by, effects, critical }
}

fn answer_view(answer: &Answer) -> AnswerView {
    AnswerView {
        decision: answer.decision,
        scope: answer.scope,
        reason: answer.reason.clone(),
        stop: answer.then == OnDeny::Stop,
        explain: answer.then == OnDeny::Explain,
        answers: answer.answers.clone(),
        updated_input: answer.updated.as_ref().map(|updated| updated.args.clone()),
        updated_digest: answer.updated.as_ref().map(|updated| updated.digest.clone()),
        by: answer.by.clone(),
        with: answer.with.clone(),
        at: clock::rfc3339(answer.at),
        overtaken: answer.overtaken_at.map(clock::rfc3339),
    }
}

/// Whose answers an ask needs, and who has voted.
fn requirement_view(requirement: &Requirement, votes: &[Vote]) -> RequirementView {
    let tally = requirement.tally(votes);
    let names = |votes: &[&Vote]| votes.iter().map(|vote| vote.name()).collect();
    RequirementView {
        rule: requirement.rule.clone(),
        group: requirement.group.clone(),
        approvals: requirement.needed(),
        approved: names(&tally.approved),
        denials: requirement.denials(),
        denied: names(&tally.denied),
    }
}
