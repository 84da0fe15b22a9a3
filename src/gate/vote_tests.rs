#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
//! The gate and its store against a plain reference: whatever people, configs, daemons and clocks
//! do, together or one after the other, an ask ends as the reference says.

mod events;
mod reference;

use crate::{Audience, Choices, Gate, Policy, SubmitOutcome, Told, testkit};
use countersign_domain::{Ask, Decision, Scope, State, requirement::VoteCount};
use countersign_people::{
    answer::Action,
    approvers::{Approvers, NamedPerson, People, RoleGroup, Who},
    routes::{RouteEscalation, RouteTarget, Routes, TargetRoute},
    rules::{AnswerRule, AskConditions, Excluded},
};
use countersign_policy::Guardrail;
use countersign_profiles::Profile;
use countersign_store::{Store, testkit::engines::Fresh};
use events::{VoteEvent, VotePress, event, rule, setup};
use proptest::prelude::*;
use reference::{
    DEADLINE, ESCALATION, Heard, VoteEnd, VoteReference, VoteRule, VoteSetup, VoteWish,
};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

const MINUTE: i64 = 60_000;
const NAMES: [&str; 4] = ["Ana", "Ben", "Cleo", "Dan"];
/// Accounts, in their order: one of each person, a second one, and one that only has a role.
const ACCOUNTS: [(&str, &str); 6] = [
    ("letters", "1"),
    ("letters", "2"),
    ("letters", "3"),
    ("letters", "4"),
    ("radio", "5"),
    ("radio", "6"),
];

fn choices(setup: &VoteSetup, rules: &[VoteRule]) -> Choices {
    let people = (0..4).filter(|person| setup.present[*person]).map(|person| {
        let mut identities: BTreeMap<String, std::collections::BTreeSet<String>> = BTreeMap::new();
        let owned = |account: &usize| setup.owner(*account) == Some(person);
        for (platform, id) in (0..5).filter(owned).map(|account| ACCOUNTS[account]) {
            identities.entry(platform.to_owned()).or_default().insert(id.to_owned());
        }
        let in_groups = [("ops", setup.ops[person]), ("leads", setup.leads[person])];
        let renamed = if setup.renamed && person == 0 { "Anna" } else { NAMES[person] };
        NamedPerson {
            name: renamed.to_owned(),
            identities,
            groups: in_groups.iter().filter(|it| it.1).map(|it| it.0.to_owned()).collect(),
            hosts: (person == 0).then(|| "ana-laptop".to_owned()).into_iter().collect(),
            ..NamedPerson::default()
        }
    });
    let roles = BTreeMap::from([("radio".to_owned(), ["7".to_owned()].into())]);
    let groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
    let last = rules.len() - 1;
    let rules = rules.iter().enumerate().map(|(at, rule)| AnswerRule {
        name: format!("rule {at}"),
        // A call without a folder may be meant by a rule with one, and the next is met too.
        when: AskConditions {
            folder: (at < last).then(|| "/srv".to_owned()).into_iter().collect(),
            ..AskConditions::default()
        },
        group: rule.group.then(|| "ops".to_owned()),
        approvals: rule.approvals as u32,
        deny: rule.deny as u32,
        count: if rule.accounts { VoteCount::Accounts } else { VoteCount::People },
        exclude: rule.four_eyes.then_some(Excluded::Requester),
        needs_reason: false,
    });
    let people = People { named: people.collect(), groups };
    let approvers = Approvers { people, rules: rules.collect(), ..Approvers::default() };
    let to = vec![RouteTarget::Inbox, RouteTarget::Group("leads".to_owned())];
    let route = TargetRoute {
        name: "all".to_owned(),
        escalate: vec![RouteEscalation { after_ms: ESCALATION * MINUTE, to }],
        ..TargetRoute::default()
    };
    let policy = Policy::open(Profile::Standard, None, None, Guardrail::default(), false);
    let audience =
        vec![Audience { adapter: "letters".into(), target: "room".into(), thread_idle_ms: None }];
    let routes = Routes { list: vec![route], ..Routes::default() };
    let usual = testkit::choices(policy.unwrap());
    let mut choices = Choices { approvers, audience, routes, ..usual };
    choices.settings.timeout_ms = DEADLINE * MINUTE;
    choices
}

async fn pressed(gate: &Arc<Gate>, ask: Ask, press: &VotePress, action: Action) -> Heard {
    let (platform, id) = ACCOUNTS[press.account];
    let roles = press.role.then(|| "7".to_owned()).into_iter().collect();
    let who = Who { platform, id: id.to_owned(), name: "somebody".to_owned(), roles };
    match gate.answer(ask, who, action).await.told {
        Told::Applied => Heard::Applied,
        Told::Voted => Heard::Voted,
        Told::NotAllowed => Heard::NotAllowed,
        Told::Already | Told::Expired | Told::Cancelled | Told::Unfit => Heard::TooLate,
        told => panic!("nobody is told {told:?}"),
    }
}

fn action(wish: VoteWish) -> Action {
    match wish {
        VoteWish::Once => Action::Approve { scope: Scope::Once },
        VoteWish::Session => Action::Approve { scope: Scope::Session },
        VoteWish::Deny => Action::Deny { reason: None, then: None },
    }
}

/// What the row says, in the words of the reference.
fn end_in_row(ask: &Ask) -> VoteEnd {
    match &ask.state {
        State::Open => VoteEnd::Open,
        State::Expired(_) => VoteEnd::Expired,
        State::Cancelled(_) => VoteEnd::Cancelled,
        State::Answered(answer) => match answer.decision {
            Decision::Deny => VoteEnd::Denied,
            _ => VoteEnd::Approved {
                session: answer.scope == Some(Scope::Session),
                undone: answer.stored.undone.is_some(),
            },
        },
    }
}

async fn run(first: VoteSetup, rules: Vec<VoteRule>, known_host: bool, events: Vec<VoteEvent>) {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let mut setups = [first.clone(), first.clone()];
    let new = |setup: &VoteSetup| Gate::new(store.clone(), choices(setup, &rules));
    let mut gates = [new(&first), new(&first)];
    let host = if known_host { "ana-laptop" } else { "build-7" };
    let call = json!({"agent": "a", "session": "s", "tool": "shell_exec", "host": host,
        "args": {"command": "git push origin main"}});
    let asked = gates[0].submit(serde_json::from_value(call).unwrap(), false).await.unwrap();
    let SubmitOutcome::Asked(ask, _) = asked else { panic!("{asked:?}") };
    let requester_known = known_host && first.present[0];
    let mut possible = vec![VoteReference::new(rules.clone(), requester_known)];
    for event in events {
        let seen = store.ask(&ask.id).await.unwrap().unwrap();
        let one = |press: &VotePress| (press.account, press.wish, press.role);
        let next: Vec<VoteReference> = match &event {
            VoteEvent::Press(press) => {
                let heard = pressed(&gates[press.at], seen, press, action(press.wish)).await;
                let setup = &setups[press.at];
                let all = possible.iter().map(|it| it.press(setup, one(press)));
                all.filter(|it| it.1 == heard).map(|it| it.0).collect()
            }
            VoteEvent::Together(first, second) => {
                let (heard, also) = tokio::join!(
                    pressed(&gates[first.at], seen.clone(), first, action(first.wish)),
                    pressed(&gates[second.at], seen, second, action(second.wish)),
                );
                let orders = possible.iter().flat_map(|it| {
                    let both = |one_press: &VotePress, other: &VotePress| {
                        let (then, a) = it.press(&setups[one_press.at], one(one_press));
                        let (then, b) = then.press(&setups[other.at], one(other));
                        (then, a, b)
                    };
                    let (straight, a, b) = both(first, second);
                    let (reverse, d, c) = both(second, first);
                    [(straight, a, b), (reverse, c, d)]
                });
                let fits = |it: &(VoteReference, Heard, Heard)| it.1 == heard && it.2 == also;
                orders.filter(fits).map(|it| it.0).collect()
            }
            VoteEvent::Meanwhile(press, setup) => {
                let gate = &gates[press.at];
                let (heard, ()) = tokio::join!(
                    pressed(gate, seen, press, action(press.wish)),
                    gate.adopt(choices(setup, &rules)),
                );
                let before = std::mem::replace(&mut setups[press.at], setup.clone());
                let orders = possible
                    .iter()
                    .flat_map(|it| [it.press(&before, one(press)), it.press(setup, one(press))]);
                orders.filter(|it| it.1 == heard).map(|it| it.0).collect()
            }
            VoteEvent::Reload(at, setup) => {
                gates[*at].adopt(choices(setup, &rules)).await;
                setups[*at] = setup.clone();
                possible
            }
            VoteEvent::Restart(at) => {
                gates[*at] = new(&setups[*at]);
                possible
            }
            VoteEvent::Minutes(minutes) => {
                store.shift(&ask.id, minutes * MINUTE).await;
                // Both daemons look at the same moment.
                let [one, other] = &gates;
                let (a, b) = tokio::join!(one.take_due_steps(), other.take_due_steps());
                let (c, d) = tokio::join!(one.expire_overdue(), other.expire_overdue());
                assert!(a.is_ok() && b.is_ok() && c.is_ok() && d.is_ok());
                possible.iter().map(|it| it.pass(*minutes)).collect()
            }
            VoteEvent::Undo(press) => {
                let heard = pressed(&gates[press.at], seen, press, Action::Undo).await;
                let setup = &setups[press.at];
                let all = possible.iter().map(|it| it.undo(setup, (press.account, press.role)));
                all.filter(|it| it.1 == heard).map(|it| it.0).collect()
            }
            VoteEvent::Cancel => {
                let _ = gates[0].cancel(&ask.id, "its caller went away").await.unwrap();
                possible.iter().map(VoteReference::cancel).collect()
            }
        };
        let row = store.ask(&ask.id).await.unwrap().unwrap();
        let end = end_in_row(&row);
        let voters: Vec<(String, bool)> = row
            .votes
            .iter()
            .map(|vote| {
                (vote.account().unwrap().1.to_owned(), vote.answer.decision == Decision::Deny)
            })
            .collect();
        let expected = next.clone();
        possible = next;
        possible.retain(|it| {
            let cast = it
                .cast
                .iter()
                .map(|vote| (ACCOUNTS[vote.0].1.to_owned(), vote.1 == VoteWish::Deny));
            it.end == end && (!row.is_open() || cast.eq(voters.iter().cloned()))
        });
        possible.dedup();
        assert!(!possible.is_empty(), "{event:?} led to {end:?} with {voters:?}: {expected:?}");
    }
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("COUNTERSIGN_VOTES").ok().and_then(|n| n.parse().ok()).unwrap_or(64),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn an_ask_of_several_people_ends_as_a_plain_reference_says(
        first in setup(),
        rules in prop::collection::vec(rule(), 1..3),
        known_host in any::<bool>(),
        events in prop::collection::vec(event(), 1..16),
    ) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(run(first, rules, known_host, events));
    }
}
