//! Whose answers an open ask needs and who has voted; how a closed one ended, on the line of its
//! title: who, when, what was stored.

use crate::card::Sheet;
use countersign_domain::{GrantLifetime, OnDeny};
use countersign_gate::{
    ask::{
        Answer, Ask, By, Decision, Execution, Overruled, Scope, State,
        requirement::{Exclusion, Requirement},
        votes::Vote,
    },
    call::Appeal,
};
use countersign_port::{brief, line};
use countersign_tokens::clock;
use serde_json::Value;

/// Writes a line for each requirement.
pub(super) fn draw_votes(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    for requirement in ask.body.requirements.iter().filter(|_| ask.is_open()) {
        sheet.note(votes_line(requirement, &ask.votes));
        details.note(format!("Who answers this: the rule {}.", line(&requirement.rule)));
        match &requirement.exclude {
            Exclusion::Nobody => {}
            Exclusion::Requester { person: Some(person) } => {
                sheet.note(format!("{} asks, so somebody else answers.", line(person)));
            }
            Exclusion::Requester { person: None } => details.note(
                "The requester is unknown, so one more approval is needed: one may be the \
                 requester's.",
            ),
        }
    }
}

/// One requirement: "1 of 2 approved (ops): Ana".
fn votes_line(requirement: &Requirement, votes: &[Vote]) -> String {
    let group = requirement.groups().map(|groups| line(&groups));
    let tally = requirement.tally(votes);
    let of = group.as_ref().map(|group| format!(" ({group})")).unwrap_or_default();
    if let (1, 1, Some(group)) = (requirement.needed(), requirement.denials(), group) {
        return format!("Only {group} may answer this.");
    }
    let names = |votes: &[&Vote]| match votes {
        [] => String::new(),
        votes => {
            format!(": {}", votes.iter().map(|vote| voter(vote)).collect::<Vec<_>>().join(", "))
        }
    };
    let approved = format!(
        "{} of {} approved{of}{}",
        tally.approved.len(),
        requirement.needed(),
        names(&tally.approved)
    );
    if tally.denied.is_empty() {
        format!("{approved}.")
    } else {
        format!(
            "{approved}. {} of {} denied{}.",
            tally.denied.len(),
            requirement.denials(),
            names(&tally.denied)
        )
    }
}

fn voter(vote: &Vote) -> String {
    let name = line(&vote.name());
    match vote.answer.scope.filter(|scope| *scope != Scope::Once) {
        Some(scope) => format!("{name} ({})", scope.name().to_lowercase()),
        None => name,
    }
}

/// A reason, a rule and an answer are cut to this; all of it is in the details.
const MOST: usize = 120;

/// How an ask ended.
pub(super) fn outcome(ask: &Ask, answer: &Answer) -> String {
    let undone = answer
        .stored
        .undone
        .as_ref()
        .map(|undone| format!(" · undone by {}, {}", who(&undone.by), clock::short(undone.at)));
    let next = answer.next_try.as_ref().map(|next| {
        let by = who(&next.by);
        let until = clock::short(next.until);
        match &answer.execution {
            Some(_) => format!(" · its next try, approved by {by}"),
            None => format!(" · the next try may run once, says {by}, until {until}"),
        }
    });
    let later = next.unwrap_or_default() + &ran(answer) + &undone.unwrap_or_default();
    ended(ask, answer) + overtaken(answer) + &overruled(answer) + &later
}

/// The machine of the agent that blocked what was approved.
fn overruled(answer: &Answer) -> String {
    let Some(Overruled { verdict, .. }) = &answer.overruled else { return String::new() };
    let against = line(&verdict.against);
    let reason = brief(&line(&verdict.reason), MOST);
    format!(" · but {}", Appeal { against, reason }.sentence("it"))
}

/// What the agent claims about an answer that did not count there.
fn overtaken(answer: &Answer) -> &'static str {
    match answer.overtaken_at {
        Some(_) => " · too late, says the agent: it was answered there",
        None => "",
    }
}

/// When its call was started, and how it ended.
fn ran(answer: &Answer) -> String {
    let Some(Execution { started_at, end, .. }) = &answer.execution else { return String::new() };
    let end = end.map(|end| format!(" → exit {}", end.exit)).unwrap_or_default();
    format!(" → started {}{end}", clock::short(*started_at))
}

fn ended(ask: &Ask, answer: &Answer) -> String {
    let at = clock::short(answer.at);
    let reason = answer.reason.as_deref().map(line).unwrap_or_default();
    let because =
        if reason.is_empty() { String::new() } else { format!(": {}", brief(&reason, MOST)) };
    match (&ask.state, answer.decision, &answer.by) {
        (State::Cancelled(_), ..) => format!("cancelled at {at}{because}"),
        (State::Expired(_), ..) if ask.body.review.is_some() => {
            format!("nobody reviewed it, {at}")
        }
        (State::Expired(_), ..) if reason.is_empty() => format!("expired, {at}"),
        // The reason says already that the time is over, and what came of it.
        (State::Expired(_), ..) => format!("{}, {at}", brief(&reason, MOST)),
        (_, Decision::Approve, By::Policy { grant }) => {
            format!("approved at {at} by the grant {}", brief(&line(grant), MOST))
        }
        (_, Decision::Answer, _) => format!("{}{}, {at}", answers(answer), all(answer)),
        (_, Decision::Edit, _) => format!("approved with a change by {}, {at}", all(answer)),
        (_, Decision::Approve, _) if ask.body.review.is_some() => {
            format!("fine, says {}, {at}{because}", all(answer))
        }
        (_, Decision::Deny, _) if ask.body.review.is_some() => {
            let done = ask.body.review.as_ref().map(|review| review.tightening.done());
            let done = brief(&line(&done.unwrap_or_default()), MOST);
            format!("should have asked, says {}, {at}{because} · {done}", all(answer))
        }
        (_, Decision::Approve, _) if ask.body.resumes.is_some() => {
            format!("resumed by {}, {at}{because}", all(answer))
        }
        (_, Decision::Deny, _) if ask.body.resumes.is_some() => {
            format!("kept paused by {}, {at}{because}", all(answer))
        }
        (_, Decision::Approve, _) => {
            let note =
                if because.is_empty() { String::new() } else { format!(", with a note{because}") };
            let by = if answer.overruled.is_some() { "approved by " } else { "" };
            format!("{by}{}, {at}{note}{}{}", all(answer), stored(ask, answer), ahead(ask))
        }
        (_, Decision::Deny, _) => {
            let then = match answer.then {
                OnDeny::GoOn => "",
                OnDeny::Stop => ", the agent must stop",
                OnDeny::Explain => ", the agent must explain itself",
            };
            format!("denied by {}, {at}{then}{because}", all(answer))
        }
    }
}

/// Everybody who decided.
fn all(answer: &Answer) -> String {
    let names: Vec<String> = answer.with.iter().chain([&answer.by]).map(who).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => who(&answer.by),
    }
}

/// Who decided, as people call them; the platform is in the details.
fn who(by: &By) -> String {
    match by {
        By::Person { name, .. } => line(name),
        by => line(&by.to_string()),
    }
}

/// What people chose, in front of who did.
fn answers(answer: &Answer) -> String {
    let given = answer.answers.iter().flat_map(|answers| answers.values());
    let all = given.map(said).collect::<Vec<_>>().join("; ");
    if all.is_empty() { String::new() } else { format!("{} · ", brief(&line(&all), MOST)) }
}

/// One answer to a question, as people read it.
pub(super) fn said(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Array(labels) => {
            labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// What an approval stored, if anything.
fn stored(ask: &Ask, answer: &Answer) -> String {
    let Some(scope) = answer.scope.filter(|scope| *scope != Scope::Once) else {
        return String::new();
    };
    let rules: Vec<String> =
        ask.body.stored(answer).iter().map(|rule| pattern(rule).to_owned()).collect();
    let rules = brief(&line(&rules.join(", ")), MOST);
    match scope {
        Scope::Timed(_) => format!(" · for {}: {rules}", scope.name()),
        Scope::Session | Scope::Prefix => format!(" · for this session: {rules}"),
        _ if ask.body.lasts == GrantLifetime::Session => format!(" · for this session: {rules}"),
        _ => format!(" · stored: {rules}"),
    }
}

/// What the approval of a budget covers.
fn ahead(ask: &Ask) -> String {
    let Some(budget) = &ask.body.call.budget else { return String::new() };
    let time = countersign_gate::lasting(budget.for_s);
    format!(" · each of the {} once, for {time}", budget.calls.len())
}

fn pattern(rule: &str) -> &str {
    rule.strip_prefix("shell: ").unwrap_or(rule)
}
