#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::{super::people::RoleGroup, *};
use serde_json::json;
use std::collections::BTreeMap;

fn person(name: &str, group: Option<&str>) -> NamedPerson {
    NamedPerson {
        name: name.to_owned(),
        identities: BTreeMap::from([("telegram".to_owned(), ["1".to_owned()].into())]),
        groups: group.into_iter().map(str::to_owned).collect(),
        ..NamedPerson::default()
    }
}

fn deploys() -> Requirement {
    serde_json::from_value(json!({
        "rule": "deploys", "group": "ops", "approvals": 2, "deny": 1, "count": "people",
        "exclude": {"who": "requester", "person": "Cid"},
    }))
    .unwrap()
}

fn team() -> Approvers {
    let mut approvers = Approvers::default();
    approvers.people.named = vec![person("Ana", Some("ops")), person("Ben", None)];
    approvers
}

fn told(answerers: &Answerers) -> Vec<(&str, AnswerCounts, &str)> {
    answerers.people.iter().map(|it| (it.who.as_str(), it.counts, it.why.as_str())).collect()
}

const OUTSIDE: &str = "Only members of ops may answer this.";

#[test]
fn each_person_is_marked_with_the_reason_why_they_could_not_answer() {
    let there = AbsentPeople::default();
    let answerers = Answerers::of(&team(), &[deploys()], &there);
    assert_eq!(
        answerers.required,
        ["deploys: 2 approvals of ops; 1 denial denies; not the one who asks (Cid)."]
    );
    assert_eq!(
        told(&answerers),
        [("Ana (telegram)", AnswerCounts::Yes, ""), ("Ben (telegram)", AnswerCounts::No, OUTSIDE)]
    );
    let few = "Nobody can approve this now: deploys needs 2 people and 1 can. Name more people, or \
               say whose machine asks ([[people]] hosts).";
    assert_eq!(answerers.problems, [few]);
    let anybody = Answerers::of(&team(), &[], &there);
    let expected = "No answer rule fits: one approval or denial of anybody decides.";
    assert_eq!((&anybody.required, anybody.problems.len()), (&vec![expected.to_owned()], 0));
    assert!(anybody.people.iter().all(|it| it.counts == AnswerCounts::Yes), "{anybody:?}");
}

#[test]
fn who_may_have_the_groups_role_is_not_told_to_be_outside_and_who_is_away_is_named_so() {
    let mut approvers = team();
    let roles = BTreeMap::from([("telegram".to_owned(), ["7".to_owned()].into())]);
    approvers.people.groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
    let absent = AbsentPeople { away: ["Ana".to_owned()].into(), ..AbsentPeople::default() };
    let answerers = Answerers::of(&approvers, &[deploys()], &absent);
    let (role, everyone) =
        ("if they have the group's role in the chat", "everyone with its role in the chat");
    assert_eq!(
        told(&answerers),
        [
            ("Ana (telegram)", AnswerCounts::Yes, "away"),
            ("Ben (telegram)", AnswerCounts::ByRole, role),
            ("ops", AnswerCounts::ByRole, everyone),
        ]
    );
    assert_eq!(answerers.problems, Vec::<String>::new());
    // A role in a chat where somebody has no account is not theirs.
    let roles = BTreeMap::from([("discord".to_owned(), ["7".to_owned()].into())]);
    approvers.people.groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
    let answerers = Answerers::of(&approvers, &[deploys()], &AbsentPeople::default());
    assert_eq!(told(&answerers).get(1), Some(&("Ben (telegram)", AnswerCounts::No, OUTSIDE)));
}

#[test]
fn a_group_that_an_escalation_added_is_named_and_its_members_could_answer() {
    let mut approvers = team();
    approvers.people.named.push(person("Dora", Some("leads")));
    let widened = Requirement { also: vec!["leads".to_owned()], ..deploys() };
    let answerers = Answerers::of(&approvers, &[widened], &AbsentPeople::default());
    assert!(answerers.required.iter().all(|it| it.contains("2 approvals of ops or leads")));
    assert_eq!(told(&answerers).last(), Some(&("Dora (telegram)", AnswerCounts::Yes, "")));
    assert_eq!(answerers.problems, Vec::<String>::new());
}

#[test]
fn where_it_is_shown_comes_with_what_happens_while_nobody_answers() {
    let target = |name: &str| PlannedTarget {
        adapter: "telegram".to_owned(),
        target: "1".to_owned(),
        name: name.to_owned(),
    };
    let plan = RoutePlan {
        route: "push".to_owned(),
        targets: vec![target("room")],
        fallback: vec![target("Ana")],
        everywhere: false,
    };
    let (groups, targets) = (vec!["leads".to_owned()], vec![target("Dora")]);
    let steps = [
        AskStep { after_ms: 300_000, action: StepAction::Remind },
        AskStep { after_ms: 600_000, action: StepAction::Escalate { groups, targets } },
    ];
    let routes = Routes::default();
    let shown = Answerers::default().shown_at(&routes, Some(&plan), &steps).shown;
    assert_eq!(
        shown,
        [
            "push: shown at room (telegram); where one fails, at Ana (telegram).",
            "After 5 minutes without an answer: those who may answer are reminded.",
            "After 10 minutes without an answer: members of leads may answer too; shown at \
             Dora (telegram) too.",
        ]
    );
    let inbox = RoutePlan { route: "mine".to_owned(), ..RoutePlan::default() };
    let shown = Answerers::default().shown_at(&routes, Some(&inbox), &[]).shown;
    assert_eq!(shown, ["mine: the inbox shows it."]);
    let may = RoutePlan { everywhere: true, ..plan };
    let shown = Answerers::default().shown_at(&routes, Some(&may), &[]).shown;
    let everywhere = "push may fit: every target shows it, and room (telegram); where one fails, \
                      at Ana (telegram).";
    assert_eq!(shown, [everywhere]);
}
