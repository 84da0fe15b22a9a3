//! What an approver's answer comes to where it matters whose answers they are. Pure.

use super::{
    answer::{Action, Refusal, TextPurpose},
    approvers::{Approver, Approvers},
    ask::{
        Answer, Ask, Decision,
        requirement::{Exclusion, Ineligible, Requirement},
        votes::{self, Vote},
    },
    people::People,
};

const NO_EDIT: &str = "Several people have to agree to this call, so nobody changes it here: deny \
                       it, and say what should run instead.";
const RAN: &str = "This call ran already, so nothing about it can be changed: say fine, or should \
                   have asked.";

/// What an answer comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Weighed {
    /// It is the ask's answer.
    Answer(Box<Answer>),
    /// It is a vote; the ask stays open.
    Votes(Vec<Vote>),
}

/// Checks whether somebody's answer to this ask counts at all.
///
/// # Errors
/// A sentence for them, with who can.
pub fn may_answer(ask: &Ask, people: &People, by: &Approver) -> Result<(), String> {
    let requirements = &as_they_count(ask, people);
    let standing = by.standing();
    let admits = |it: &Requirement| it.admits(standing.person.as_deref(), &standing.groups);
    let Some(first) = requirements.first() else { return Ok(()) };
    if requirements.iter().any(|it| admits(it).is_ok()) {
        return Ok(());
    }
    let why = admits(first).err().unwrap_or(Ineligible::Nameless);
    Err(match &why {
        Ineligible::NotInGroup(_) => format!("{why} {}", who_can(people, first)),
        Ineligible::Nameless | Ineligible::Requester => why.to_string(),
    })
}

fn who_can(people: &People, required: &Requirement) -> String {
    let groups = || required.group.iter().chain(&required.also);
    let mut names: Vec<&str> = groups().flat_map(|group| people.members(group)).collect();
    if people.groups.iter().any(|it| groups().any(|group| *group == it.name)) {
        names.push("everyone with its role");
    }
    match names.is_empty() {
        true => "Nobody is in it now.".to_owned(),
        false => format!("It has {}.", names.join(", ")),
    }
}

/// Checks that an action fits an ask that several people answer.
///
/// # Errors
/// [`Refusal`], with words for the presser.
// SECURITY: everybody who approves has approved the same call.
pub(super) fn fits(ask: &Ask, action: &Action) -> Result<(), Refusal> {
    let edits = matches!(
        action,
        Action::Propose(_) | Action::Edit { .. } | Action::Words { wanted: TextPurpose::Edit, .. }
    );
    match edits {
        true if ask.body.review.is_some() => Err(Refusal::Unfit(RAN.to_owned())),
        true if ask.body.takes_votes() => Err(Refusal::Unfit(NO_EDIT.to_owned())),
        _ => Ok(()),
    }
}

/// Weighs an answer together with the votes before it.
// SECURITY: every vote is judged anew: who has been removed meanwhile, or left the group, does not
// count any more. Roles count as they were at the vote.
#[must_use]
pub fn weigh(ask: &Ask, approvers: &Approvers, by: &Approver, answer: Answer) -> Weighed {
    let requirements = &as_they_count(ask, &approvers.people);
    if requirements.is_empty() {
        return Weighed::Answer(Box::new(answer));
    }
    let standing = by.standing().clone();
    let now = answer.at;
    let vote = Vote {
        person: standing.person,
        groups: standing.groups,
        roles: by.who().roles.clone(),
        answer,
    };
    let earlier = ask.votes.iter().filter_map(|vote| again(approvers, vote)).collect();
    let votes = votes::cast(earlier, vote);
    match votes::answer(requirements, &votes, now) {
        Some(answer) => Weighed::Answer(Box::new(answer)),
        None => Weighed::Votes(votes),
    }
}

/// The requirements of an ask as they count now.
// SECURITY: the requester is a person and not a name: one who got another name meanwhile is known
// by their agent or machine, and one who is not known any more may be anybody who approves.
pub(super) fn as_they_count(ask: &Ask, people: &People) -> Vec<Requirement> {
    let mut requirements = ask.body.requirements.clone();
    for requirement in &mut requirements {
        let Exclusion::Requester { person: Some(requester) } = &requirement.exclude else {
            continue;
        };
        if people.named.iter().any(|it| it.name == *requester) {
            continue;
        }
        let person = people
            .requester(&ask.body.call, ask.body.owner.as_ref())
            .map(|person| person.name.clone());
        requirement.exclude = Exclusion::Requester { person };
    }
    requirements
}

/// An earlier vote as it counts now; `None` where its voter may not answer any more.
fn again(approvers: &Approvers, vote: &Vote) -> Option<Vote> {
    let (platform, id) = vote.account()?;
    let standing = approvers.standing(platform, id, &vote.roles)?;
    Some(Vote { person: standing.person, groups: standing.groups, ..vote.clone() })
}

/// What a voter is told whose vote decides nothing yet.
pub(super) fn sentence(ask: &Ask, people: &People) -> String {
    let Some(last) = ask.votes.last() else { return String::new() };
    let denies = last.answer.decision == Decision::Deny;
    let requirements = as_they_count(ask, people);
    let counts = requirements.iter().map(|it| {
        let tally = it.tally(&ask.votes);
        let of = it.groups().map(|group| format!(" of {group}")).unwrap_or_default();
        match denies {
            true => format!("{} of {} denials{of}", tally.denied.len(), it.denials()),
            false => format!("{} of {} approvals{of}", tally.approved.len(), it.needed()),
        }
    });
    format!("Your vote counts: {}.", counts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
