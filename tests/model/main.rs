//! The way of an answer as a model, checked over every interleaving: registering, reading,
//! deciding, committing, waking, telling, drawing, with a deadline, crashes, and an agent that
//! comes back. What a press comes to and who is told what is said by the real functions; that the
//! model's compare-and-set is the store's is a test of its own.
//!
//! The larger plans are checked by `COUNTERSIGN_MODEL=whole` (minutes); the short form lets the
//! daemon die once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod callers;
mod path;
mod row;
mod votes;

use callers::Callers;
use path::{Order, Path, Plan};
use row::Wish;
use stateright::{Checker, Model};
use std::{fmt::Debug, hash::Hash};
use votes::{Order as VoteOrder, Votes};

/// Whether the larger plans are to be checked.
fn whole() -> bool {
    std::env::var("COUNTERSIGN_MODEL").is_ok_and(|form| form == "whole")
}

/// A model that can be checked.
trait Checked:
    Model<State: Clone + Debug + Hash + PartialEq + Send + Sync, Action: Clone + Debug + PartialEq>
    + Send
    + Sync
    + 'static
{
}

impl Checked for Path {}
impl Checked for Callers {}
impl Checked for Votes {}

/// Checks a model over every interleaving, and returns how many states there are.
fn check(model: impl Checked) -> usize {
    let checked = model.checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
    checked.unique_state_count()
}

/// The promises that a broken order breaks.
fn broken(model: impl Checked) -> Vec<&'static str> {
    let checked = model.checker().threads(2).spawn_bfs().join();
    let mut names: Vec<_> = checked.discoveries().into_keys().collect();
    let possible = [&path::CAN_BE[..], &callers::CAN_BE, &votes::CAN_BE].concat();
    names.retain(|name| !possible.contains(name));
    names.sort_unstable();
    names
}

#[test]
fn every_interleaving_of_two_presses_a_deadline_and_crashes_keeps_the_promises() {
    let crashes = if whole() { 3 } else { 1 };
    let plan = Plan { presses: vec![Wish::Approve, Wish::Deny], crashes, ..Plan::default() };
    let states = check(Path::new(Order::Right, plan));
    println!("{states} states");
}

#[test]
fn every_interleaving_of_presses_and_a_caller_that_leaves_keeps_the_promises() {
    let mut presses = vec![Wish::Approve, Wish::Deny];
    presses.extend(whole().then_some(Wish::Approve));
    let crashes = u8::from(whole());
    let plan = Plan { presses, crashes, leaves: true };
    let states = check(Path::new(Order::Right, plan));
    println!("{states} states");
}

#[test]
fn every_interleaving_of_choices_on_one_question_keeps_the_promises() {
    let mut presses = vec![Wish::Choose(0), Wish::Submit];
    presses.extend(whole().then_some(Wish::Choose(1)));
    let plan = Plan { presses, crashes: u8::from(whole()), ..Plan::default() };
    let states = check(Path::new(Order::Right, plan));
    println!("{states} states");
}

#[test]
fn the_checker_catches_every_order_that_is_wrong() {
    let two = Plan { presses: vec![Wish::Approve, Wish::Deny], crashes: 0, leaves: false };
    let crash = Plan { presses: vec![Wish::Approve], crashes: 1, leaves: false };
    let breaks = |order, plan: &Plan| broken(Path::new(order, plan.clone()));
    assert_eq!(breaks(Order::Right, &two), Vec::<&str>::new());
    assert_eq!(breaks(Order::Right, &crash), Vec::<&str>::new());
    assert_eq!(breaks(Order::ReadThenRegister, &two), [path::ALL_ENDS]);
    assert_eq!(breaks(Order::TellThenCommit, &two), [path::TOLD_IS_TRUE]);
    let unseen = [path::ONE_ANSWER, path::AGENT_GETS_IT, path::TOLD_IS_TRUE];
    assert_eq!(breaks(Order::CommitUnseen, &two), unseen);
    assert_eq!(breaks(Order::ConfirmThenHandle, &crash), [path::NO_PRESS_IS_LOST]);
    assert_eq!(breaks(Order::NoteThenDraw, &crash), [path::ALL_ENDS]);
}

#[test]
fn every_interleaving_of_callers_at_two_daemons_keeps_the_promises() {
    let (visits, deaths) = if whole() { (3, 2) } else { (2, 1) };
    for lets_go in [false, true] {
        let callers = Callers { order: callers::Order::Right, visits, deaths, lets_go };
        println!("{} states of callers", check(callers));
    }
}

#[test]
fn the_checker_catches_every_way_of_taking_back_that_is_wrong() {
    use callers::{ENDS, Order, REUNION, WAITS};
    let breaks = |order, deaths| broken(Callers { order, visits: 2, deaths, lets_go: false });
    assert_eq!(breaks(Order::Right, 1), [""; 0]);
    assert_eq!(breaks(Order::ComeMeanwhile, 0), [WAITS]);
    assert_eq!(breaks(Order::LastSeen, 0), [WAITS]);
    assert_eq!(breaks(Order::DeadAtOnce, 1), [REUNION]);
    assert_eq!(breaks(Order::DeadForEver, 1), [ENDS]);
}

/// Votes at two daemons: Ana's two accounts, Ben, Cleo and Dan, who votes by a role.
fn presses() -> Vec<votes::VotePress> {
    let mut presses =
        vec![(0, "ana-t", false), (1, "ana-d", false), (0, "ben", false), (1, "cleo", true)];
    presses.extend(whole().then_some((0, "dan", false)));
    presses
}

#[test]
fn every_interleaving_of_votes_reloads_crashes_and_a_deadline_keeps_the_promises() {
    for (four_eyes, denials) in [(false, 1), (false, 2), (true, 1)] {
        let mut presses = presses();
        presses.extend((denials == 2).then_some((0, "ben", true)));
        presses.retain(|press| !(four_eyes && press.1 == "ana-d"));
        presses.extend((four_eyes && !whole()).then_some((0, "dan", false)));
        let crashes = u8::from(whole());
        let order = VoteOrder::Right;
        let votes = Votes { order, presses, approvals: 2, denials, four_eyes, crashes };
        println!("{} states of votes", check(votes));
    }
}

#[test]
fn the_checker_catches_every_way_of_counting_votes_that_is_wrong() {
    use votes::{AT_ONCE, DENIED, ENOUGH, IN_TIME, TOLD};
    let breaks = |order| {
        let (approvals, denials, crashes) = (2, 1, 0);
        broken(Votes { order, presses: presses(), approvals, denials, four_eyes: false, crashes })
    };
    let found = [
        VoteOrder::Right,
        VoteOrder::CommitUnseen,
        VoteOrder::AsCast,
        VoteOrder::ReloadMeanwhile,
        VoteOrder::AdmittedOnce,
        VoteOrder::ByAccount,
        VoteOrder::AfterDeadline,
        VoteOrder::InMemory,
    ]
    .map(breaks);
    let wanted: [&[&str]; 8] = [
        &[],
        &[ENOUGH, AT_ONCE, IN_TIME, TOLD],
        &[ENOUGH],
        &[ENOUGH, DENIED],
        &[ENOUGH, DENIED],
        &[ENOUGH],
        &[IN_TIME],
        &[AT_ONCE, TOLD],
    ];
    assert_eq!(found, wanted);
}
