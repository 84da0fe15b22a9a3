//! The way of an answer as a model, checked over every interleaving: registering, reading, deciding,
//! committing, waking, telling, drawing, with a deadline, crashes, and an agent that comes back. What a
//! press comes to and who is told what is said by the real functions; that the model's compare-and-set
//! is the store's is a test of its own.
//!
//! The larger plans are checked by `COUNTERSIGN_MODEL=whole` (minutes); the short form lets the daemon
//! die once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod path;
mod row;

use path::{Order, Path, Plan};
use row::Wish;
use stateright::{Checker, Model};

/// Whether the larger plans are to be checked.
fn whole() -> bool {
    std::env::var("COUNTERSIGN_MODEL").is_ok_and(|form| form == "whole")
}

/// Checks a path over every interleaving, and returns how many states there are.
fn check(path: Path) -> usize {
    let checked = path.checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
    checked.unique_state_count()
}

/// The promises that a broken order breaks.
fn broken(path: Path) -> Vec<&'static str> {
    let checked = path.checker().threads(2).spawn_bfs().join();
    let mut names: Vec<_> = checked.discoveries().into_keys().collect();
    names.retain(|name| !path::CAN_BE.contains(name));
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
