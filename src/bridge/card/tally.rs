//! Whose answers an open ask needs, and who has voted.

use super::sheet::Sheet;
use countersign_gate::ask::{
    Ask, Scope,
    requirement::{Exclusion, Requirement},
    votes::Vote,
};
use countersign_port::line;

/// Writes a line for each requirement.
pub(super) fn draw(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    for requirement in ask.body.requirements.iter().filter(|_| ask.is_open()) {
        sheet.note(told(requirement, &ask.votes));
        details.note(format!("Who answers this: the rule {}.", line(&requirement.rule)));
        match &requirement.exclude {
            Exclusion::Nobody => {}
            Exclusion::Requester { person: Some(person) } => {
                sheet.note(format!("{} asks, so somebody else answers.", line(person)));
            }
            Exclusion::Requester { person: None } => details.note(
                "Nobody knows who asks, so it takes one approval more: one may be the requester's.",
            ),
        }
    }
}

/// One requirement: "1 of 2 approved (ops): Ana".
fn told(requirement: &Requirement, votes: &[Vote]) -> String {
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
    match tally.denied.is_empty() {
        true => format!("{approved}."),
        false => format!(
            "{approved}. {} of {} denied{}.",
            tally.denied.len(),
            requirement.denials(),
            names(&tally.denied)
        ),
    }
}

fn voter(vote: &Vote) -> String {
    let name = line(&vote.name());
    match vote.answer.scope.filter(|scope| *scope != Scope::Once) {
        Some(scope) => format!("{name} ({scope})"),
        None => name,
    }
}
