//! What an approver's answer comes to where it matters whose answers they are. Pure.

use crate::{
    answer::{Action, Refusal, TextPurpose},
    approvers::{Approver, Approvers, People},
};
use countersign_domain::{
    Answer, Ask, Decision,
    requirement::{Exclusion, Ineligible, Requirement},
    votes::{self, Vote},
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
    if names.is_empty() {
        "Nobody is in it now.".to_owned()
    } else {
        format!("It has {}.", names.join(", "))
    }
}

/// Checks that an action fits an ask that several people answer.
///
/// # Errors
/// [`Refusal`], with words for the presser.
// SECURITY: everybody who approves has approved the same call.
pub fn fits(ask: &Ask, action: &Action) -> Result<(), Refusal> {
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
pub fn as_they_count(ask: &Ask, people: &People) -> Vec<Requirement> {
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
pub fn sentence(ask: &Ask, people: &People) -> String {
    let Some(last) = ask.votes.last() else { return String::new() };
    let denies = last.answer.decision == Decision::Deny;
    let requirements = as_they_count(ask, people);
    let counts = requirements.iter().map(|it| {
        let tally = it.tally(&ask.votes);
        let of = it.groups().map(|group| format!(" of {group}")).unwrap_or_default();
        if denies {
            format!("{} of {} denials{of}", tally.denied.len(), it.denials())
        } else {
            format!("{} of {} approvals{of}", tally.approved.len(), it.needed())
        }
    });
    format!("Your vote counts: {}.", counts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use crate::{
        answer::EditStep,
        approvers::{NamedPerson, Who, person},
    };
    use countersign_domain::{Body, call::Call, requirement::VoteCount};
    use serde_json::json;
    use std::collections::BTreeMap;

    /// Somebody with an account and a machine.
    fn somebody(name: &str, id: &str, host: Option<&str>) -> NamedPerson {
        NamedPerson {
            name: name.to_owned(),
            identities: BTreeMap::from([("letters".to_owned(), [id.to_owned()].into())]),
            hosts: host.into_iter().map(str::to_owned).collect(),
            ..NamedPerson::default()
        }
    }

    #[test]
    fn a_requester_with_another_name_still_does_not_answer_and_one_who_left_may_be_anybody() {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "make"}));
        let call = Call { host: Some("ana-laptop".to_owned()), ..call };
        let mut ask = Ask::opened("ask", "digest", Body::new(call, "no rule"), 0);
        ask.body.requirements = vec![Requirement {
            rule: "four-eyes".to_owned(),
            group: None,
            also: Vec::new(),
            approvals: 1,
            deny: 1,
            count: VoteCount::People,
            exclude: Exclusion::Requester { person: Some("Ana".to_owned()) },
        }];
        let with = |first| {
            let people = People { named: vec![first, somebody("Ben", "2", None)], groups: vec![] };
            Approvers { people, ..Approvers::default() }
        };
        let by = |approvers: &Approvers, id: &str| {
            let id = id.to_owned();
            let name = String::new();
            approvers.admit(Who { platform: "letters", id, name, roles: vec![] }).unwrap()
        };
        let may = |approvers: &Approvers, id| {
            may_answer(&ask, &approvers.people, &by(approvers, id)).is_ok()
        };
        let decides = |approvers: &Approvers, id| {
            let by = by(approvers, id);
            let yes = Answer::new(Decision::Approve, person(&by), 1);
            matches!(weigh(&ask, approvers, &by, yes), Weighed::Answer(_))
        };
        for name in ["Ana", "Anna"] {
            let known = with(somebody(name, "1", Some("ana-laptop")));
            assert_eq!([may(&known, "1"), may(&known, "2")], [false, true], "{name}");
            assert!(decides(&known, "2"), "{name}");
        }
        let by_name = with(somebody("Ana", "1", None));
        assert_eq!([may(&by_name, "1"), may(&by_name, "2")], [false, true], "without a machine");
        assert!(decides(&by_name, "2"));
        // Whose machine it was is not known any more: either may be them, so both have to agree.
        let gone = with(somebody("Dora", "1", None));
        assert_eq!([may(&gone, "1"), may(&gone, "2")], [true, true]);
        assert_eq!([decides(&gone, "1"), decides(&gone, "2")], [false, false]);
    }

    #[test]
    fn nobody_changes_a_call_on_which_several_votes_count() {
        let of = |approvals, deny| {
            let call = Call::new("a", "s", "shell_exec", json!({"command": "make"}));
            let mut ask = Ask::opened("ask", "digest", Body::new(call, "no rule"), 0);
            ask.body.requirements = vec![Requirement {
                rule: "two".to_owned(),
                group: None,
                also: Vec::new(),
                approvals,
                deny,
                count: VoteCount::People,
                exclude: Exclusion::Nobody,
            }];
            ask
        };
        let edits = [
            Action::Words { wanted: TextPurpose::Edit, text: Some("make check".to_owned()) },
            Action::Words { wanted: TextPurpose::Edit, text: None },
            Action::Edit { nth: 1, step: EditStep::Approve },
        ];
        for edit in &edits {
            for several in [of(2, 1), of(1, 2)] {
                let refused = fits(&several, edit);
                assert_eq!(refused, Err(Refusal::Unfit(NO_EDIT.to_owned())), "{edit:?}");
            }
            assert_eq!(fits(&of(1, 1), edit), Ok(()), "{edit:?}");
        }
        let deny = Action::Words { wanted: TextPurpose::Reason, text: Some("no".to_owned()) };
        assert_eq!(fits(&of(2, 1), &deny), Ok(()));
    }

    /// An ask that takes so many approvals of these groups.
    fn needs(approvals: u32, deny: u32, groups: &[&str]) -> Ask {
        let call = Call::new("a", "s", "shell_exec", json!({"command": "make"}));
        let mut ask = Ask::opened("ask", "digest", Body::new(call, "no rule"), 0);
        let mut groups = groups.iter().map(|&group| group.to_owned());
        ask.body.requirements = vec![Requirement {
            rule: "two".to_owned(),
            group: groups.next(),
            also: groups.collect(),
            approvals,
            deny,
            count: VoteCount::People,
            exclude: Exclusion::Nobody,
        }];
        ask
    }

    /// Ana of ops and Ben of no group.
    fn two() -> Approvers {
        let ana = NamedPerson { groups: ["ops".to_owned()].into(), ..somebody("Ana", "1", None) };
        let people = People { named: vec![ana, somebody("Ben", "2", None)], groups: Vec::new() };
        Approvers { people, ..Approvers::default() }
    }

    fn admitted(approvers: &Approvers, id: &str) -> Approver {
        let id = id.to_owned();
        let name = String::new();
        approvers.admit(Who { platform: "letters", id, name, roles: vec![] }).unwrap()
    }

    #[test]
    fn who_is_not_in_the_group_is_told_who_is() {
        let mut team = two();
        let ben = admitted(&team, "2");
        let told = |team: &Approvers, groups: &[&str]| {
            may_answer(&needs(1, 1, groups), &team.people, &ben).unwrap_err()
        };
        assert_eq!(told(&team, &["ops"]), "Only members of ops may answer this. It has Ana.");
        assert_eq!(
            told(&team, &["night"]),
            "Only members of night may answer this. Nobody is in it now."
        );
        let group =
            crate::approvers::RoleGroup { name: "leads".to_owned(), roles: BTreeMap::new() };
        team.people.groups = vec![group];
        let both =
            "Only members of ops or leads may answer this. It has Ana, everyone with its role.";
        assert_eq!(told(&team, &["ops", "leads"]), both);
        assert_eq!(told(&team, &["ops"]), "Only members of ops may answer this. It has Ana.");
    }

    #[test]
    fn a_vote_before_counts_as_its_voter_stands_now() {
        let mut ask = needs(2, 1, &[]);
        let team = two();
        let vote = |approvers: &Approvers, ask: &Ask, id: &str| {
            let by = admitted(approvers, id);
            weigh(ask, approvers, &by, Answer::new(Decision::Approve, person(&by), 1))
        };
        let Weighed::Votes(votes) = vote(&team, &ask, "1") else { panic!("one is not enough") };
        ask.votes = votes;
        assert_eq!(sentence(&ask, &team.people), "Your vote counts: 1 of 2 approvals.");
        assert!(matches!(vote(&team, &ask, "2"), Weighed::Answer(_)));
        // Ana got another name and group meanwhile: the vote is hers still.
        let mut renamed = team.clone();
        for person in renamed.people.named.iter_mut().filter(|it| it.name == "Ana") {
            person.name = "Anna".to_owned();
            person.groups = ["night".to_owned()].into();
        }
        let Weighed::Votes(again) = vote(&renamed, &ask, "1") else { panic!("still one person") };
        assert_eq!(again.len(), 1);
        let mut three = ask.clone();
        three.body.requirements[0].approvals = 3;
        let Weighed::Votes(votes) = vote(&renamed, &three, "2") else { panic!("three are needed") };
        let stands = |it: &Vote| (it.person.clone().unwrap(), it.groups.clone());
        let expected =
            [("Anna".to_owned(), ["night".to_owned()].into()), ("Ben".to_owned(), [].into())];
        assert_eq!(votes.iter().map(stands).collect::<Vec<_>>(), expected);
        // Who may not answer any more has no vote.
        let mut left = team;
        left.people.named.retain(|it| it.name != "Ana");
        let Weighed::Votes(votes) = vote(&left, &ask, "2") else { panic!("Ana left") };
        assert_eq!(votes.iter().map(|it| it.person.as_deref()).collect::<Vec<_>>(), [Some("Ben")]);
    }

    #[test]
    fn a_voter_is_told_how_many_of_their_kind_there_are() {
        let team = two();
        let mut ask = needs(2, 2, &["ops"]);
        assert_eq!(sentence(&ask, &team.people), "");
        let ana = admitted(&team, "1");
        for (decision, told) in [
            (Decision::Approve, "Your vote counts: 1 of 2 approvals of ops."),
            (Decision::Deny, "Your vote counts: 1 of 2 denials of ops."),
        ] {
            let Weighed::Votes(votes) =
                weigh(&ask, &team, &ana, Answer::new(decision, person(&ana), 1))
            else {
                panic!("one is not enough")
            };
            ask.votes = votes;
            assert_eq!(sentence(&ask, &team.people), told);
        }
    }

    #[test]
    fn what_ran_already_is_not_changed() {
        let mut ask = needs(1, 1, &[]);
        let review = json!({"agent": "a", "session": "s", "digest": "d", "at": 0,
            "through": "a rule", "tightening": {"kind": "revoke", "grant": "g", "rule": "t"}});
        ask.body.review = serde_json::from_value(review).unwrap();
        let edit = Action::Edit { nth: 1, step: EditStep::Approve };
        assert_eq!(fits(&ask, &edit), Err(Refusal::Unfit(RAN.to_owned())));
        assert_eq!(fits(&ask, &Action::Look), Ok(()));
    }
}
