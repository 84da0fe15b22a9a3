#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;
use crate::requirement::Exclusion;
use proptest::prelude::*;

fn requirement(approvals: u32, deny: u32) -> Requirement {
    Requirement {
        rule: "r".into(),
        group: Some("ops".into()),
        also: Vec::new(),
        approvals,
        deny,
        count: VoteCount::People,
        exclude: Exclusion::Nobody,
    }
}

fn by(platform: &str, id: &str, name: &str) -> By {
    By::Person { platform: platform.into(), id: id.into(), name: name.into() }
}

/// A vote of a person in `ops` from their account on a platform.
fn vote(platform: &str, person: &str, decision: Decision, scope: Option<Scope>) -> Vote {
    let answer = Answer { scope, ..Answer::new(decision, by(platform, person, person), 1) };
    let groups = ["ops".to_owned()].into();
    Vote { answer, person: Some(person.to_owned()), groups, roles: Vec::new() }
}

fn yes(platform: &str, person: &str) -> Vote {
    vote(platform, person, Decision::Approve, Some(Scope::Once))
}

fn no(platform: &str, person: &str) -> Vote {
    vote(platform, person, Decision::Deny, None)
}

fn all(votes: &[Vote]) -> Vec<Vote> {
    votes.iter().cloned().fold(Vec::new(), cast)
}

#[test]
fn who_counts_and_what_it_comes_to() {
    let [two, deny_two] = [[requirement(2, 1)], [requirement(2, 2)]];
    let outside = Vote { groups: BTreeSet::new(), ..yes("telegram", "Cleo") };
    let nameless = Vote { person: None, ..yes("telegram", "Dan") };
    for (what, requirements, votes, wanted) in [
        ("nobody", &two, vec![], VoteResult::Open),
        ("one of two", &two, vec![yes("telegram", "Ana")], VoteResult::Open),
        ("two", &two, vec![yes("telegram", "Ana"), yes("discord", "Ben")], VoteResult::Approved),
        (
            "one person twice",
            &two,
            vec![yes("telegram", "Ana"), yes("discord", "Ana")],
            VoteResult::Open,
        ),
        ("outside", &two, vec![yes("telegram", "Ana"), outside], VoteResult::Open),
        ("nameless", &two, vec![yes("telegram", "Ana"), nameless], VoteResult::Open),
        ("a denial", &two, vec![yes("telegram", "Ana"), no("telegram", "Ben")], VoteResult::Denied),
        (
            "one denial of two",
            &deny_two,
            vec![no("telegram", "Ben"), yes("telegram", "Ana")],
            VoteResult::Open,
        ),
        (
            "a vote changed on another account",
            &deny_two,
            vec![yes("telegram", "Ana"), no("discord", "Ana"), no("telegram", "Ben")],
            VoteResult::Denied,
        ),
        (
            "a denial taken back",
            &deny_two,
            vec![no("telegram", "Ana"), yes("telegram", "Ben"), yes("telegram", "Ana")],
            VoteResult::Approved,
        ),
    ] {
        assert_eq!(result(requirements, &all(&votes)), wanted, "{what}");
    }
    assert_eq!(result(&[], &[yes("telegram", "Ana")]), VoteResult::Open);
}

#[test]
fn every_requirement_has_to_be_met_and_one_can_deny() {
    let dev = Requirement { group: Some("dev".into()), ..requirement(1, 1) };
    let both = [dev, requirement(1, 1)];
    let in_dev = |vote: Vote| Vote { groups: ["dev".to_owned()].into(), ..vote };
    let ana = in_dev(yes("telegram", "Ana"));
    assert_eq!(result(&both, std::slice::from_ref(&ana)), VoteResult::Open);
    let approved = all(&[ana.clone(), yes("telegram", "Ben")]);
    assert_eq!(result(&both, &approved), VoteResult::Approved);
    let denied = all(&[ana, in_dev(no("telegram", "Cleo"))]);
    assert_eq!(result(&both, &denied), VoteResult::Denied);
}

#[test]
fn what_is_remembered_is_what_every_voter_chose() {
    let two = [requirement(2, 1)];
    let chose = |person, scope| vote("telegram", person, Decision::Approve, Some(scope));
    let scope = |one, other| {
        let votes = [chose("Ana", one), chose("Ben", other)];
        answer(&two, &votes, 9).unwrap().scope
    };
    assert_eq!(scope(Scope::Always, Scope::Always), Some(Scope::Always));
    assert_eq!(scope(Scope::Always, Scope::Once), Some(Scope::Once));
    assert_eq!(scope(Scope::Once, Scope::Always), Some(Scope::Once));
    assert_eq!(scope(Scope::Timed(60), Scope::Session), Some(Scope::Once));
    let mut parts = chose("Ana", Scope::Always);
    parts.answer.stored.parts = Some(vec![0]);
    let differ = answer(&two, &[parts, chose("Ben", Scope::Always)], 9).unwrap();
    assert_eq!((differ.scope, differ.stored.parts), (Some(Scope::Once), None));
}

#[test]
fn the_answer_names_its_voters_their_notes_and_its_own_time() {
    let two = [requirement(2, 1)];
    let with_note = |mut vote: Vote, note: &str| {
        vote.answer.reason = Some(note.to_owned());
        vote
    };
    let ana = with_note(yes("telegram", "Ana"), "ok");
    let ben = yes("discord", "Ben");
    let found = answer(&two, &[ana.clone(), ben], 9).unwrap();
    let wanted = Answer {
        scope: Some(Scope::Once),
        reason: Some("ok".into()),
        with: vec![by("telegram", "Ana", "Ana")],
        ..Answer::new(Decision::Approve, by("discord", "Ben", "Ben"), 9)
    };
    assert_eq!(found, wanted);
    let both = answer(&two, &[ana, with_note(yes("discord", "Ben"), "go")], 9).unwrap();
    assert_eq!(both.reason.as_deref(), Some("Ana: ok\nBen: go"));
    assert_eq!(answer(&two, &[], 9), None);
    let votes = [yes("telegram", "Ana"), yes("discord", "Ana"), yes("telegram", "Ben")];
    let with = answer(&two, &votes, 9).unwrap().with;
    assert_eq!(with, [by("discord", "Ana", "Ana")], "a person is named once");
}

/// The rules again, as plainly as they can be said: per requirement the last vote of each person.
fn model(requirements: &[Requirement], votes: &[(usize, usize, bool, bool)]) -> VoteResult {
    let count = |wanted: bool| {
        (0..4)
            .filter(|person| {
                let mut theirs =
                    votes.iter().filter(|(who, _, _, in_group)| who == person && *in_group);
                theirs.next_back().is_some_and(|(_, _, approves, _)| *approves == wanted)
            })
            .count()
    };
    let approved = count(true);
    let denied = count(false);
    if requirements.iter().any(|it| denied >= it.deny as usize) {
        return VoteResult::Denied;
    }
    if requirements.iter().all(|it| approved >= it.approvals as usize) {
        VoteResult::Approved
    } else {
        VoteResult::Open
    }
}

proptest! {
    #[test]
    fn votes_come_to_what_a_plain_model_says(
        counts in prop::collection::vec((1_u32..4, 1_u32..4), 1..3),
        presses in prop::collection::vec((0_usize..4, 0_usize..2, any::<bool>()), 0..12),
        members in prop::collection::vec(any::<bool>(), 4),
    ) {
        let requirements: Vec<_> =
            counts.iter().map(|(approvals, deny)| requirement(*approvals, *deny)).collect();
        let platforms = ["telegram", "discord"];
        let is_member = |who: usize| members.get(who).copied().unwrap_or_default();
        let mut votes = Vec::new();
        for (who, account, approves) in &presses {
            let platform = platforms.get(*account).unwrap();
            let name = format!("p{who}");
            let mut one = if *approves { yes(platform, &name) } else { no(platform, &name) };
            if !is_member(*who) {
                one.groups.clear();
            }
            votes = cast(votes, one);
        }
        let with_group = presses.iter().map(|(who, at, yes)| (*who, *at, *yes, is_member(*who)));
        let plain: Vec<_> = with_group.collect();
        let wanted = model(&requirements, &plain);
        prop_assert_eq!(result(&requirements, &votes), wanted);
        let answered = answer(&requirements, &votes, 9);
        prop_assert_eq!(answered.is_some(), wanted != VoteResult::Open);
        if let Some(answered) = answered {
            prop_assert_eq!(answered.decision == Decision::Deny, wanted == VoteResult::Denied);
        }
    }
}

#[test]
fn an_account_counts_once_though_it_votes_in_its_chat_and_signed_in_to_the_inbox_too() {
    let accounts = [Requirement { count: VoteCount::Accounts, ..requirement(2, 1) }];
    let ends = |votes: &[Vote]| result(&accounts, &all(votes));
    let chat = yes("telegram", "1");
    let inbox = yes("inbox", "telegram:1");
    assert_eq!(ends(&[chat.clone(), inbox.clone()]), VoteResult::Open);
    assert_eq!(ends(&[chat, yes("inbox", "oidc:1")]), VoteResult::Approved);
    assert_eq!(ends(&[inbox.clone(), yes("telegram", "2")]), VoteResult::Approved);
    assert_eq!(ends(&[inbox, no("telegram", "1")]), VoteResult::Denied);
}
