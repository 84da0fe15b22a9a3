//! Votes on an ask, and what they come to. Pure.
//!
//! INVARIANT: a person counts once however many accounts they vote with, and with their last vote.

use super::{
    Answer, By, Decision, Scope, StoredRules, requirement::Requirement, requirement::VoteCount,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The vote of one account, and who stood behind it when it was looked at last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// What they answered.
    pub answer: Answer,
    /// Their name in the config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Their groups.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// Their roles on the platform when they voted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
}

/// What the votes come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum VoteResult {
    /// More are needed.
    Open,
    /// Enough have approved.
    Approved,
    /// Enough have denied.
    Denied,
}

/// The votes that count for one requirement, one for each voter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally<'v> {
    /// Those that approve.
    pub approved: Vec<&'v Vote>,
    /// Those that deny.
    pub denied: Vec<&'v Vote>,
}

impl Vote {
    /// The account that voted; `None` for what no person does.
    #[must_use]
    pub fn account(&self) -> Option<(&str, &str)> {
        match &self.answer.by {
            By::Person { platform, id, .. } => Some((platform, id)),
            By::Policy { .. } | By::Timeout | By::NoApprover | By::Caller => None,
        }
    }

    /// The voter's name, for people to read.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.answer.by {
            By::Person { name, .. } => name.clone(),
            by => by.to_string(),
        }
    }

    fn denies(&self) -> bool {
        self.answer.decision == Decision::Deny
    }
}

/// The votes with this one, in the place of an earlier one of the same account.
#[must_use]
pub fn cast(mut votes: Vec<Vote>, vote: Vote) -> Vec<Vote> {
    votes.retain(|earlier| earlier.account() != vote.account());
    votes.push(vote);
    votes
}

impl Requirement {
    /// The votes that count.
    #[must_use]
    pub fn tally<'v>(&self, votes: &'v [Vote]) -> Tally<'v> {
        let mut last: Vec<(Voter<'v>, &'v Vote)> = Vec::new();
        for vote in votes {
            let Some(voter) = self.voter(vote) else { continue };
            last.retain(|(earlier, _)| *earlier != voter);
            last.push((voter, vote));
        }
        let (denied, approved) =
            last.into_iter().map(|(_, vote)| vote).partition(|vote| vote.denies());
        Tally { approved, denied }
    }

    /// Whose vote it is; `None` where it does not count.
    fn voter<'v>(&self, vote: &'v Vote) -> Option<Voter<'v>> {
        self.admits(vote.person.as_deref(), &vote.groups).ok()?;
        let (platform, id) = match vote.account()? {
            // SECURITY: who signed in to the inbox with an account answers there with that account.
            ("inbox", signed_in) => signed_in.split_once(':').unwrap_or(("inbox", signed_in)),
            account => account,
        };
        Some(match (self.count, vote.person.as_deref()) {
            (VoteCount::People, Some(person)) => Voter::Person(person),
            _ => Voter::Account(platform, id),
        })
    }
}

#[derive(PartialEq)]
enum Voter<'v> {
    Person(&'v str),
    Account(&'v str, &'v str),
}

/// What these votes come to: a denial where one requirement has enough of them, an approval where
/// all requirements have enough.
// FAIL-CLOSED: nothing is approved by requirements that nobody has met.
pub fn result(requirements: &[Requirement], votes: &[Vote]) -> VoteResult {
    let tallies: Vec<_> = requirements.iter().map(|it| (it, it.tally(votes))).collect();
    let denied =
        |(it, tally): &(&Requirement, Tally<'_>)| tally.denied.len() >= it.denials().max(1);
    let approved =
        |(it, tally): &(&Requirement, Tally<'_>)| tally.approved.len() >= it.needed().max(1);
    match (tallies.iter().any(denied), tallies.iter().all(approved)) {
        (true, _) => VoteResult::Denied,
        (false, true) if !tallies.is_empty() => VoteResult::Approved,
        (false, _) => VoteResult::Open,
    }
}

/// The answer that these votes are together; `None` while they are none.
// SECURITY: only what every voter chose is remembered; where they chose differently, the call is
// approved once.
#[must_use]
pub fn answer(requirements: &[Requirement], votes: &[Vote], now: i64) -> Option<Answer> {
    let denies = match result(requirements, votes) {
        VoteResult::Open => return None,
        VoteResult::Approved => false,
        VoteResult::Denied => true,
    };
    let tallies: Vec<_> = requirements.iter().map(|it| it.tally(votes)).collect();
    // Not all votes: a person may have changed theirs with another account.
    let counts = |vote: &&Vote| {
        let side = |tally: &Tally<'_>| {
            if denies {
                tally.denied.iter().any(|it| std::ptr::eq(*it, *vote))
            } else {
                tally.approved.iter().any(|it| std::ptr::eq(*it, *vote))
            }
        };
        tallies.iter().any(side)
    };
    let counted: Vec<&Vote> = votes.iter().filter(counts).collect();
    let (last, others) = counted.split_last()?;
    let same = |vote: &&&Vote| {
        let one = &vote.answer;
        let other = &last.answer;
        (one.scope, &one.stored.parts) == (other.scope, &other.stored.parts)
    };
    let agreed = others.iter().filter(|vote| !same(vote)).count() == 0;
    let (scope, stored) = if agreed || denies {
        (last.answer.scope, last.answer.stored.clone())
    } else {
        (Some(Scope::Once), StoredRules::default())
    };
    let with = others.iter().map(|vote| vote.answer.by.clone()).collect();
    let reason = if denies { last.answer.reason.clone() } else { notes(&counted) };
    Some(Answer { scope, stored, reason, with, at: now, ..last.answer.clone() })
}

/// The notes of all voters; who wrote which, where there are several.
fn notes(counted: &[&Vote]) -> Option<String> {
    let noted = counted.iter().filter_map(|vote| Some((vote.name(), vote.answer.reason.as_ref()?)));
    let notes: Vec<(String, &String)> = noted.collect();
    match notes.as_slice() {
        [] => None,
        [(_, note)] => Some((*note).clone()),
        several => {
            let each = several.iter().map(|(name, note)| format!("{name}: {note}"));
            Some(each.collect::<Vec<_>>().join("\n"))
        }
    }
}

#[cfg(test)]
mod tests;
