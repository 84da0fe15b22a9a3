//! Who could answer a call, and why: what the command, the API and the inbox's page show. Pure.

use crate::{
    approvers::{Approvers, Local, NamedPerson},
    routes::Routes,
};
use countersign_domain::{
    deadline::{AskStep, StepAction},
    plan::{AbsentPeople, PlannedTarget, RoutePlan},
    requirement::{Exclusion, Requirement, VoteCount},
    wire::{CountsView, PossibleAnswererView},
};
use countersign_tokens::clock;
use std::collections::BTreeSet;

/// Who could answer a call, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answerers {
    /// What it takes, a sentence for each answer rule that fits.
    pub required: Vec<String>,
    /// Everybody of whom the config knows.
    pub people: Vec<PossibleAnswererView>,
    /// Why nobody can approve it, a sentence for each rule that cannot be met.
    pub problems: Vec<String>,
    /// Where it is shown, and what happens while nobody answers.
    pub shown: Vec<String>,
}

impl Answerers {
    /// Who meets these requirements, and is there.
    #[must_use]
    pub fn of(approvers: &Approvers, required: &[Requirement], absent: &AbsentPeople) -> Self {
        let sentences: Vec<String> = required.iter().map(required_by).collect();
        let anybody = "No answer rule applies: the first answer counts.";
        let named = approvers.people.named.iter();
        let named = named.map(|person| named_person(approvers, person, required, absent));
        Self {
            required: if required.is_empty() { vec![anybody.to_owned()] } else { sentences },
            people: named.chain(nameless(approvers, required)).collect(),
            problems: required.iter().filter_map(|it| too_few(approvers, it)).collect(),
            shown: Vec::new(),
        }
    }

    /// The same with where it is shown.
    #[must_use]
    pub fn shown_at(
        mut self,
        routes: &Routes,
        plan: Option<&RoutePlan>,
        steps: &[AskStep],
    ) -> Self {
        self.shown = std::iter::once(shown(routes, plan)).chain(later(steps)).collect();
        self
    }
}

fn list(targets: &[PlannedTarget]) -> String {
    let names = targets.iter().map(|it| format!("{} ({})", it.name, it.adapter));
    names.collect::<Vec<_>>().join(", ")
}

/// `push: shown at room (chat), Ana (mail); where one fails, at Ben (chat).`
fn shown(routes: &Routes, plan: Option<&RoutePlan>) -> String {
    match plan {
        None if routes.list.is_empty() => "Shown in every connected chat.".to_owned(),
        None => "No route fits: every target shows it.".to_owned(),
        Some(plan) if plan.targets.is_empty() && plan.everywhere => {
            format!("{} may fit: every target shows it.", plan.route)
        }
        Some(plan) if plan.targets.is_empty() => format!("{}: the inbox shows it.", plan.route),
        Some(plan) => {
            let mut line = if plan.everywhere {
                format!("{} may fit: every target shows it, and ", plan.route)
            } else {
                format!("{}: shown at ", plan.route)
            } + &list(&plan.targets);
            if !plan.fallback.is_empty() {
                line.push_str(&format!("; where one fails, at {}", list(&plan.fallback)));
            }
            line + "."
        }
    }
}

/// `After 10 minutes without an answer: members of leads may answer too.`
fn later(steps: &[AskStep]) -> impl Iterator<Item = String> {
    steps.iter().map(|step| {
        let what = match &step.action {
            StepAction::Remind => "those who may answer are reminded".to_owned(),
            StepAction::Escalate { groups, targets } => {
                let too = |groups: &[String]| {
                    format!("members of {} may answer too", groups.join(" and "))
                };
                let parts = [
                    (!groups.is_empty()).then(|| too(groups)),
                    (!targets.is_empty()).then(|| format!("shown at {} too", list(targets))),
                ];
                parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
            }
        };
        format!("After {} without an answer: {what}.", clock::span(step.after_ms))
    })
}

/// A sentence where fewer people can approve than have to. Roles may bring more.
fn too_few(approvers: &Approvers, it: &Requirement) -> Option<String> {
    let people = &approvers.people;
    let asked = |name: &String| it.group.as_ref() == Some(name) || it.also.contains(name);
    let by_role = people.groups.iter().any(|group| asked(&group.name));
    let can = people.named.iter().filter(|who| it.admits(Some(&who.name), &who.groups).is_ok());
    let can = can.count();
    let needed = it.needed();
    let by_name = it.needed() > 1 && it.count == VoteCount::People && !by_role;
    (by_name && can < needed).then(|| {
        format!(
            "Nobody can approve this now: {} needs {needed} people and {can} can. Name more \
             people, or say whose machine asks ([[people]] hosts).",
            it.rule
        )
    })
}

/// `deploys: 2 approvals of ops; 1 denial denies; not the one who asks (Ana).`
fn required_by(it: &Requirement) -> String {
    let some = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    };
    let of = it.groups().map(|groups| format!(" of {groups}")).unwrap_or_default();
    let needed = some(it.needed(), "approval");
    let denials = some(it.denials(), "denial");
    let deny = if it.denials() == 1 { "denies" } else { "deny" };
    let mut line = format!("{}: {needed}{of}; {denials} {deny}", it.rule);
    if it.count == VoteCount::Accounts {
        line.push_str("; each account counts");
    }
    match &it.exclude {
        Exclusion::Nobody => {}
        Exclusion::Requester { person: Some(person) } => {
            line.push_str(&format!("; not the one who asks ({person})"));
        }
        Exclusion::Requester { person: None } => line.push_str(
            "; not the one who asks, whom nobody knows here ([[people]] hosts), so one more \
             approves",
        ),
    }
    line.push('.');
    line
}

fn named_person(
    approvers: &Approvers,
    person: &NamedPerson,
    required: &[Requirement],
    absent: &AbsentPeople,
) -> PossibleAnswererView {
    let mut places: Vec<&str> = person.identities.keys().map(String::as_str).collect();
    if person.token.is_some() && !places.contains(&"api") {
        places.push("api");
    }
    let places: Vec<&str> =
        places.into_iter().map(|it| if it == "api" { "token" } else { it }).collect();
    let on = if places.is_empty() { "nowhere".to_owned() } else { places.join(", ") };
    // One requirement that admits them is enough: their vote counts for that one.
    let refused = |groups: &BTreeSet<String>| -> Option<String> {
        let why = required.iter().map(|it| it.admits(Some(&person.name), groups).err());
        let why: Option<Vec<String>> = why.map(|why| why.map(|why| why.to_string())).collect();
        why.filter(|why| !why.is_empty()).map(|why| why.join(" "))
    };
    let by_role = approvers.people.groups.iter();
    let by_role = by_role
        .filter(|group| group.roles.keys().any(|chat| person.identities.contains_key(chat)))
        .map(|group| group.name.clone());
    let at_most: BTreeSet<String> = person.groups.iter().cloned().chain(by_role).collect();
    let (counts, why) = match refused(&person.groups) {
        None if absent.away.contains(&person.name) => (CountsView::Yes, "away".to_owned()),
        None if absent.snoozed.contains(&person.name) => {
            (CountsView::Yes, "has quiet hours now".to_owned())
        }
        None => (CountsView::Yes, String::new()),
        Some(_) if refused(&at_most).is_none() => {
            (CountsView::ByRole, "if they have the group's role in the chat".to_owned())
        }
        Some(why) => (CountsView::No, why),
    };
    PossibleAnswererView { who: format!("{} ({on})", person.name), counts, why }
}

/// People of lists without names, members by role, and this machine.
fn nameless(approvers: &Approvers, required: &[Requirement]) -> Vec<PossibleAnswererView> {
    let none = BTreeSet::new();
    let why = required.iter().map(|it| it.admits(None, &none).err().map(|why| why.to_string()));
    let why: Option<Vec<String>> = why.collect();
    let mark = |who: String| match &why {
        Some(why) if !why.is_empty() => {
            PossibleAnswererView { who, counts: CountsView::No, why: why.join(" ") }
        }
        _ => PossibleAnswererView { who, counts: CountsView::Yes, why: String::new() },
    };
    let lists = approvers.chats.iter().filter(|(_, members)| members.count() > 0);
    let lists = lists.map(|(chat, it)| mark(format!("{} on {chat} without a name", it.count())));
    let roles = approvers.people.groups.iter().map(|it| PossibleAnswererView {
        who: it.name.clone(),
        counts: CountsView::ByRole,
        why: "everyone with its role in the chat".to_owned(),
    });
    let here = (approvers.local == Local::On)
        .then(|| mark("the inbox of this machine, and the approver's token".to_owned()));
    lists.chain(roles).chain(here).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::approvers::RoleGroup;
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

    fn told(answerers: &Answerers) -> Vec<(&str, CountsView, &str)> {
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
            [("Ana (telegram)", CountsView::Yes, ""), ("Ben (telegram)", CountsView::No, OUTSIDE)]
        );
        let few = "Nobody can approve this now: deploys needs 2 people and 1 can. Name more people, or \
               say whose machine asks ([[people]] hosts).";
        assert_eq!(answerers.problems, [few]);
        let anybody = Answerers::of(&team(), &[], &there);
        let expected = "No answer rule applies: the first answer counts.";
        assert_eq!((&anybody.required, anybody.problems.len()), (&vec![expected.to_owned()], 0));
        assert!(anybody.people.iter().all(|it| it.counts == CountsView::Yes), "{anybody:?}");
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
                ("Ana (telegram)", CountsView::Yes, "away"),
                ("Ben (telegram)", CountsView::ByRole, role),
                ("ops", CountsView::ByRole, everyone),
            ]
        );
        assert_eq!(answerers.problems, Vec::<String>::new());
        // A role in a chat where somebody has no account is not theirs.
        let roles = BTreeMap::from([("discord".to_owned(), ["7".to_owned()].into())]);
        approvers.people.groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
        let answerers = Answerers::of(&approvers, &[deploys()], &AbsentPeople::default());
        assert_eq!(told(&answerers).get(1), Some(&("Ben (telegram)", CountsView::No, OUTSIDE)));
    }

    #[test]
    fn a_group_that_an_escalation_added_is_named_and_its_members_could_answer() {
        let mut approvers = team();
        approvers.people.named.push(person("Dora", Some("leads")));
        let widened = Requirement { also: vec!["leads".to_owned()], ..deploys() };
        let answerers = Answerers::of(&approvers, &[widened], &AbsentPeople::default());
        assert!(answerers.required.iter().all(|it| it.contains("2 approvals of ops or leads")));
        assert_eq!(told(&answerers).last(), Some(&("Dora (telegram)", CountsView::Yes, "")));
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
        let groups = vec!["leads".to_owned()];
        let targets = vec![target("Dora")];
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

    #[test]
    fn where_no_route_leads_it_is_said_who_shows_it() {
        let shown = |routes: &Routes, plan: Option<&RoutePlan>| {
            Answerers::default().shown_at(routes, plan, &[]).shown
        };
        let none = Routes::default();
        let some = Routes { list: vec![crate::routes::TargetRoute::default()], ..none.clone() };
        assert_eq!(shown(&none, None), ["Shown in every connected chat."]);
        assert_eq!(shown(&some, None), ["No route fits: every target shows it."]);
        let may = RoutePlan { route: "push".to_owned(), everywhere: true, ..RoutePlan::default() };
        assert_eq!(shown(&some, Some(&may)), ["push may fit: every target shows it."]);
    }

    #[test]
    fn enough_people_are_no_problem_and_two_accounts_may_be_one_persons() {
        let mut approvers = team();
        approvers.people.named.push(person("Dora", Some("ops")));
        let problems = |it: &Requirement| {
            Answerers::of(&approvers, std::slice::from_ref(it), &AbsentPeople::default()).problems
        };
        assert_eq!(problems(&deploys()), Vec::<String>::new());
        assert_eq!(problems(&Requirement { approvals: 3, ..deploys() }).len(), 1);
        let accounts = Requirement { approvals: 3, count: VoteCount::Accounts, ..deploys() };
        assert_eq!(problems(&accounts), Vec::<String>::new());
        let each = "; each account counts; not the one who asks";
        assert!(required_by(&accounts).contains(each), "{}", required_by(&accounts));
        assert!(!required_by(&deploys()).contains("each account counts"));
        let one = Requirement { approvals: 1, group: Some("none".to_owned()), ..deploys() };
        assert_eq!(problems(&one), Vec::<String>::new(), "somebody may join it");
    }

    #[test]
    fn who_has_a_token_or_quiet_hours_or_no_account_is_named_so() {
        let mut approvers = team();
        for (person, token) in approvers.people.named.iter_mut().zip(["t", ""]) {
            person.token =
                (!token.is_empty()).then(|| countersign_tokens::secret::TokenHash::of(token));
        }
        approvers
            .people
            .named
            .push(NamedPerson { name: "Eve".to_owned(), ..NamedPerson::default() });
        let snoozed = ["Ben".to_owned()].into();
        let absent = AbsentPeople { snoozed, ..AbsentPeople::default() };
        assert_eq!(
            told(&Answerers::of(&approvers, &[], &absent)),
            [
                ("Ana (telegram, token)", CountsView::Yes, ""),
                ("Ben (telegram)", CountsView::Yes, "has quiet hours now"),
                ("Eve (nowhere)", CountsView::Yes, ""),
            ]
        );
    }

    #[test]
    fn those_without_a_name_are_counted_by_their_list_and_told_why_they_do_not_count() {
        let mut approvers =
            Approvers::of_chat("telegram", crate::approvers::Members::people(["1", "2"]));
        approvers.chats.insert("slack".to_owned(), crate::approvers::Members::default());
        approvers.local = Local::On;
        let of = |required: &[Requirement]| {
            Answerers::of(&approvers, required, &AbsentPeople::default()).people
        };
        let marked = |counts, why: &str| {
            ["2 on telegram without a name", "the inbox of this machine, and the approver's token"]
                .map(|who| PossibleAnswererView {
                    who: who.to_owned(),
                    counts,
                    why: why.to_owned(),
                })
        };
        assert_eq!(of(&[]), marked(CountsView::Yes, ""));
        assert_eq!(of(&[deploys()]), marked(CountsView::No, OUTSIDE));
        let anybody =
            Requirement { group: None, approvals: 1, exclude: Exclusion::Nobody, ..deploys() };
        assert_eq!(of(&[anybody]), marked(CountsView::Yes, ""));
    }
}
