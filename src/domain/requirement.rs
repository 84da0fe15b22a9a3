//! Whose answers an ask needs. Pure.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whose answers an ask needs. It is stored with the ask: a rule that changes later changes no ask
/// that people have seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The rule behind it, for people to read.
    pub rule: String,
    /// Only members of this group count; everybody who may answer where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Further groups that an escalation has asked since; known from the steps that are done.
    #[serde(skip)]
    pub also: Vec<String>,
    /// How many have to approve.
    pub approvals: u32,
    /// How many denials deny.
    pub deny: u32,
    /// Whose votes are one.
    pub count: VoteCount,
    /// Who may not answer though they could.
    pub exclude: Exclusion,
}

/// Whose votes are one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoteCount {
    /// Those of a person, with whatever account they vote.
    #[default]
    People,
    /// Those of an account.
    Accounts,
}

/// Who may not answer though they could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "who")]
pub enum Exclusion {
    /// Nobody.
    Nobody,
    /// The person whose agent asks.
    Requester {
        /// Their name, where it is known.
        person: Option<String>,
    },
}

/// Why somebody's answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// They are not in the group.
    #[error("Only members of {0} may answer this.")]
    NotInGroup(String),
    /// Nobody knows who they are, so they could be counted twice, or be the requester.
    #[error(
        "Only people with a name in the config may answer this, because it matters who they are."
    )]
    Nameless,
    /// It is their own request.
    #[error("This is your own agent's request, so somebody else has to answer it.")]
    Requester,
}

impl Requirement {
    /// How many have to approve. Where nobody knows who asks, any one of those who approve may be
    /// the requester, so it takes one more.
    #[must_use]
    pub fn needed(&self) -> usize {
        let unknown = self.exclude == Exclusion::Requester { person: None };
        (self.approvals as usize).saturating_add(usize::from(unknown))
    }

    /// Whether what met the other requirement meets this one too.
    #[must_use]
    pub fn is_met_by(&self, other: &Self) -> bool {
        let same_people = self.group.is_none() || self.group == other.group;
        let excluded = self.exclude == Exclusion::Nobody || other.exclude != Exclusion::Nobody;
        let counted = self.count == other.count || other.count == VoteCount::People;
        same_people && excluded && counted && self.approvals <= other.approvals
    }

    /// The first of these that none of the others meets.
    #[must_use]
    pub fn unmet<'r>(required: &'r [Self], made: &[Self]) -> Option<&'r Self> {
        required.iter().find(|it| !made.iter().any(|made| it.is_met_by(made)))
    }

    /// How many denials deny.
    #[must_use]
    pub fn denials(&self) -> usize {
        self.deny as usize
    }

    /// The groups whose members count, for people to read; `None` for everybody.
    #[must_use]
    pub fn groups(&self) -> Option<String> {
        let first = self.group.as_deref()?;
        let all: Vec<&str> =
            std::iter::once(first).chain(self.also.iter().map(String::as_str)).collect();
        Some(all.join(" or "))
    }

    /// Checks whether the answer of somebody with this name and these groups counts.
    ///
    /// # Errors
    /// [`Ineligible`]
    // FAIL-CLOSED: who has no name could vote with two accounts, or be the requester.
    pub fn admits(
        &self,
        person: Option<&str>,
        groups: &BTreeSet<String>,
    ) -> Result<(), Ineligible> {
        let asked = |group: &String| {
            groups.contains(group) || self.also.iter().any(|it| groups.contains(it))
        };
        if let Some(group) = self.group.as_ref().filter(|group| !asked(group)) {
            let groups = self.groups().unwrap_or_else(|| group.clone());
            return Err(Ineligible::NotInGroup(groups));
        }
        let several = self.needed() > 1 || self.denials() > 1;
        let by_name = several && self.count == VoteCount::People;
        match (&self.exclude, person) {
            (Exclusion::Requester { .. }, None) => Err(Ineligible::Nameless),
            (Exclusion::Nobody, None) if by_name => Err(Ineligible::Nameless),
            (Exclusion::Requester { person: Some(requester) }, Some(person))
                if requester == person =>
            {
                Err(Ineligible::Requester)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement() -> Requirement {
        Requirement {
            rule: "deploys".to_owned(),
            group: None,
            also: Vec::new(),
            approvals: 2,
            deny: 1,
            count: VoteCount::People,
            exclude: Exclusion::Nobody,
        }
    }

    #[test]
    fn a_group_a_name_and_being_another_than_the_requester_can_each_be_needed() {
        let ops = BTreeSet::from(["ops".to_owned()]);
        let none = BTreeSet::new();
        let in_ops = Requirement { group: Some("ops".to_owned()), ..requirement() };
        assert_eq!(in_ops.admits(Some("Ana"), &ops), Ok(()));
        let outside = Err(Ineligible::NotInGroup("ops".to_owned()));
        assert_eq!(in_ops.admits(Some("Ana"), &none), outside);
        assert_eq!(requirement().admits(None, &none), Err(Ineligible::Nameless));
        let accounts = Requirement { count: VoteCount::Accounts, ..requirement() };
        assert_eq!(accounts.admits(None, &none), Ok(()));
        let one = Requirement { approvals: 1, ..requirement() };
        assert_eq!(one.admits(None, &none), Ok(()));
        let not_by = |person: Option<&str>| Requirement {
            exclude: Exclusion::Requester { person: person.map(str::to_owned) },
            ..one.clone()
        };
        assert_eq!(not_by(Some("Ana")).admits(Some("Ana"), &none), Err(Ineligible::Requester));
        assert_eq!(not_by(Some("Ana")).admits(Some("Ben"), &none), Ok(()));
        assert_eq!(not_by(None).admits(None, &none), Err(Ineligible::Nameless));
    }

    #[test]
    fn a_requirement_is_met_by_an_equal_one_and_a_stricter_one_alone() {
        let two = requirement();
        let one = Requirement { approvals: 1, ..requirement() };
        let of_ops = Requirement { group: Some("ops".to_owned()), ..requirement() };
        let exclude = Exclusion::Requester { person: None };
        let not_own = Requirement { exclude, ..requirement() };
        let accounts = Requirement { count: VoteCount::Accounts, ..requirement() };
        assert!(two.is_met_by(&two) && one.is_met_by(&two) && two.is_met_by(&of_ops));
        assert!(two.is_met_by(&not_own) && accounts.is_met_by(&two));
        assert!(!two.is_met_by(&one) && !of_ops.is_met_by(&two));
        assert!(!not_own.is_met_by(&two) && !two.is_met_by(&accounts));
    }

    #[test]
    fn where_nobody_knows_who_asks_one_more_has_to_approve() {
        let not_by = |person: Option<&str>| Requirement {
            exclude: Exclusion::Requester { person: person.map(str::to_owned) },
            ..requirement()
        };
        let needed = [requirement().needed(), not_by(Some("Ana")).needed(), not_by(None).needed()];
        assert_eq!(needed, [2, 2, 3]);
    }
}
