//! Who may answer, whose votes count and what they come to: said once more, as plainly as possible.

use std::collections::BTreeMap;

/// Minutes until the ask expires.
pub(super) const DEADLINE: i64 = 30;
/// Minutes until the group `leads` may answer too.
pub(super) const ESCALATION: i64 = 10;

/// The people of a config: four of them, the first of whom asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VoteSetup {
    pub(super) present: [bool; 4],
    pub(super) ops: [bool; 4],
    pub(super) leads: [bool; 4],
    /// Who has the second account; 4: nobody.
    pub(super) second: usize,
    /// Whether the first person has another name.
    pub(super) renamed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct VoteRule {
    /// Whether only members of `ops` count.
    pub(super) group: bool,
    pub(super) approvals: usize,
    pub(super) deny: usize,
    pub(super) accounts: bool,
    pub(super) four_eyes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum VoteWish {
    Once,
    Session,
    Deny,
}

/// What a presser is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Heard {
    Applied,
    Voted,
    NotAllowed,
    TooLate,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum VoteEnd {
    Open,
    Approved { session: bool, undone: bool },
    Denied,
    Expired,
    Cancelled,
}

/// An account, what it wished, and whether it had its role.
pub(super) type CastVote = (usize, VoteWish, bool);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct VoteReference {
    rules: Vec<VoteRule>,
    requester_known: bool,
    ran: i64,
    pub(super) cast: Vec<CastVote>,
    pub(super) end: VoteEnd,
}

/// Somebody: a person by number, and the groups.
struct Somebody {
    person: Option<usize>,
    ops: bool,
    leads: bool,
}

impl VoteSetup {
    /// The person who has an account.
    pub(super) fn owner(&self, account: usize) -> Option<usize> {
        let owner = if account == 4 { self.second } else { account };
        self.present.get(owner).copied().filter(|present| *present).map(|_| owner)
    }

    fn somebody(&self, account: usize, role: bool) -> Option<Somebody> {
        let by_role = role && account >= 4;
        match self.owner(account) {
            Some(person) => Some(Somebody {
                person: Some(person),
                ops: self.ops[person] || by_role,
                leads: self.leads[person],
            }),
            None => by_role.then_some(Somebody { person: None, ops: true, leads: false }),
        }
    }
}

impl VoteReference {
    pub(super) fn new(rules: Vec<VoteRule>, requester_known: bool) -> Self {
        Self { rules, requester_known, ran: 0, cast: vec![], end: VoteEnd::Open }
    }

    /// Whether the requester is known, so that it suffices to leave them out.
    fn knows_requester(&self, setup: &VoteSetup) -> bool {
        self.requester_known && setup.present[0]
    }

    fn needed(&self, rule: &VoteRule, setup: &VoteSetup) -> usize {
        rule.approvals + usize::from(rule.four_eyes && !self.knows_requester(setup))
    }

    fn admits(&self, rule: &VoteRule, setup: &VoteSetup, who: &Somebody) -> bool {
        let escalated = self.ran >= ESCALATION;
        let in_group = !rule.group || who.ops || (escalated && who.leads);
        let several = self.needed(rule, setup) > 1 || rule.deny > 1;
        let needs_name = rule.four_eyes || (several && !rule.accounts);
        let own = rule.four_eyes && self.knows_requester(setup) && who.person == Some(0);
        in_group && (who.person.is_some() || !needs_name) && !own
    }

    fn may_answer(&self, setup: &VoteSetup, account: usize, role: bool) -> bool {
        let somebody = setup.somebody(account, role);
        somebody.is_some_and(|who| self.rules.iter().any(|rule| self.admits(rule, setup, &who)))
    }

    /// The votes that count for a rule: the last of each person, or of each account.
    fn counted(&self, rule: &VoteRule, setup: &VoteSetup) -> Vec<CastVote> {
        let mut last: BTreeMap<(bool, usize), CastVote> = BTreeMap::new();
        for vote in &self.cast {
            let Some(who) = setup.somebody(vote.0, vote.2) else { continue };
            if !self.admits(rule, setup, &who) {
                continue;
            }
            let voter = match who.person {
                Some(person) if !rule.accounts => (true, person),
                _ => (false, vote.0),
            };
            last.insert(voter, *vote);
        }
        last.into_values().collect()
    }

    pub(super) fn press(&self, setup: &VoteSetup, vote: CastVote) -> (Self, Heard) {
        if !self.may_answer(setup, vote.0, vote.2) {
            return (self.clone(), Heard::NotAllowed);
        }
        if self.end != VoteEnd::Open {
            return (self.clone(), Heard::TooLate);
        }
        let mut next = self.clone();
        next.cast.retain(|it| setup.somebody(it.0, it.2).is_some() && it.0 != vote.0);
        next.cast.push(vote);
        let counted: Vec<_> = next.rules.iter().map(|it| (it, next.counted(it, setup))).collect();
        let count = |votes: &[CastVote], denies: bool| {
            votes.iter().filter(|vote| (vote.1 == VoteWish::Deny) == denies).count()
        };
        let denied = counted.iter().any(|(rule, votes)| count(votes, true) >= rule.deny);
        let mut approved = counted.iter();
        let approved =
            approved.all(|(rule, votes)| count(votes, false) >= next.needed(rule, setup));
        let chosen = |wish| {
            let mut votes = counted.iter().flat_map(|(_, votes)| votes);
            votes.any(|vote| vote.1 == wish)
        };
        let session = chosen(VoteWish::Session) && !chosen(VoteWish::Once);
        next.end = match (denied, approved) {
            (true, _) => VoteEnd::Denied,
            (_, true) => VoteEnd::Approved { session, undone: false },
            _ => VoteEnd::Open,
        };
        let heard = if next.end == VoteEnd::Open { Heard::Voted } else { Heard::Applied };
        (next, heard)
    }

    pub(super) fn undo(&self, setup: &VoteSetup, who: (usize, bool)) -> (Self, Heard) {
        if !self.may_answer(setup, who.0, who.1) {
            return (self.clone(), Heard::NotAllowed);
        }
        if self.end != (VoteEnd::Approved { session: true, undone: false }) {
            return (self.clone(), Heard::TooLate);
        }
        let end = VoteEnd::Approved { session: true, undone: true };
        (Self { end, ..self.clone() }, Heard::Applied)
    }

    /// Time passes, and both daemons look at what is due.
    pub(super) fn pass(&self, minutes: i64) -> Self {
        if self.end != VoteEnd::Open {
            return self.clone();
        }
        let ran = self.ran + minutes;
        match ran >= DEADLINE {
            // What is due at the deadline or after it is not done any more.
            true => Self { end: VoteEnd::Expired, ..self.clone() },
            false => Self { ran, ..self.clone() },
        }
    }

    pub(super) fn cancel(&self) -> Self {
        let end = if self.end == VoteEnd::Open { VoteEnd::Cancelled } else { self.end };
        Self { end, ..self.clone() }
    }
}
