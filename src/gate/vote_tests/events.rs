//! What happens to an ask of several people.

use super::reference::{VoteRule, VoteSetup, VoteWish};
use proptest::prelude::*;

/// What happens.
#[derive(Debug, Clone)]
pub(super) enum VoteEvent {
    Press(VotePress),
    /// Both have read the row before either is recorded.
    Together(VotePress, VotePress),
    /// A reload and a press at the same moment.
    Meanwhile(VotePress, VoteSetup),
    Reload(usize, VoteSetup),
    Restart(usize),
    Minutes(i64),
    Undo(VotePress),
    Cancel,
}

#[derive(Debug, Clone)]
pub(super) struct VotePress {
    pub(super) account: usize,
    pub(super) wish: VoteWish,
    /// Whether the account has its role at this moment.
    pub(super) role: bool,
    pub(super) at: usize,
}

fn press() -> impl Strategy<Value = VotePress> {
    let wish = prop_oneof![
        4 => Just(VoteWish::Once),
        2 => Just(VoteWish::Session),
        2 => Just(VoteWish::Deny),
    ];
    (0..6usize, wish, any::<bool>(), 0..2usize).prop_map(|(account, wish, role, at)| VotePress {
        account,
        wish,
        role,
        at,
    })
}

pub(super) fn setup() -> impl Strategy<Value = VoteSetup> {
    let mostly = || prop::array::uniform4(prop::bool::weighted(0.8));
    (mostly(), mostly(), prop::array::uniform4(any::<bool>()), 0..5usize, any::<bool>()).prop_map(
        |(present, ops, leads, second, renamed)| VoteSetup { present, ops, leads, second, renamed },
    )
}

pub(super) fn rule() -> impl Strategy<Value = VoteRule> {
    let [group, accounts, four_eyes] = [any::<bool>(), any::<bool>(), any::<bool>()];
    (group, 1..4usize, 1..3usize, accounts, four_eyes).prop_map(
        |(group, approvals, deny, accounts, four_eyes)| VoteRule {
            group,
            approvals,
            deny,
            accounts,
            four_eyes,
        },
    )
}

pub(super) fn event() -> impl Strategy<Value = VoteEvent> {
    prop_oneof![
        10 => press().prop_map(VoteEvent::Press),
        4 => (press(), press()).prop_map(|(one, other)| VoteEvent::Together(one, other)),
        2 => (press(), setup()).prop_map(|(press, setup)| VoteEvent::Meanwhile(press, setup)),
        2 => (0..2usize, setup()).prop_map(|(at, setup)| VoteEvent::Reload(at, setup)),
        1 => (0..2usize).prop_map(VoteEvent::Restart),
        2 => (1..15i64).prop_map(VoteEvent::Minutes),
        2 => press().prop_map(VoteEvent::Undo),
        1 => prop::bool::weighted(0.2).prop_map(|yes| if yes { VoteEvent::Cancel } else { VoteEvent::Minutes(1) }),
    ]
}
