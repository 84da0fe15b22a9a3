//! Which asks need whose answers: rules of the config, the first that fits. Pure.
//!
//! A rule with commands or paths fits a call if any of its commands may be meant, and ends the
//! search only if it is certain that all are: `cargo test && git push` meets the rules of both.
//! [`Matcher`] says what fits.

use super::{
    ask::{
        call::Call,
        requirement::{Exclusion, Requirement, VoteCount},
    },
    people::People,
};
use countersign_policy::{Matcher, RuleFit, matcher::name};

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerRule {
    /// For people to read.
    pub name: String,
    /// What it fits.
    pub when: AskConditions,
    /// Only members of this group count.
    pub group: Option<String>,
    /// How many have to approve.
    pub approvals: u32,
    /// How many denials deny.
    pub deny: u32,
    /// Whose votes are one.
    pub count: VoteUnit,
    /// Who may not answer though they could.
    pub exclude: Option<Excluded>,
}

/// Whose votes are one, as a rule says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VoteUnit {
    /// Those of a person.
    #[default]
    Person,
    /// Those of an account.
    Account,
}

/// Who a rule keeps from answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excluded {
    /// The person whose agent asks.
    Requester,
}

/// What a rule fits; an empty list fits everything. Each is a list of patterns, of which one has to
/// fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskConditions {
    /// Names of agents.
    pub agent: Vec<String>,
    /// Names of sessions.
    pub session: Vec<String>,
    /// Names of machines.
    pub host: Vec<String>,
    /// Working directories.
    pub folder: Vec<String>,
    /// Names of tools.
    pub tool: Vec<String>,
    /// Commands, as in rules files.
    pub command: Vec<String>,
    /// Paths, as in rules files.
    pub path: Vec<String>,
    /// Names of effects.
    pub effect: Vec<String>,
    /// Whether the call is critical.
    pub critical: Option<Criticality>,
}

/// Whether a call is critical.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criticality {
    /// It is.
    Critical,
    /// It is not.
    Ordinary,
}

/// A call as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct SeenCall<'c> {
    /// As submitted.
    pub call: &'c Call,
    /// Its facts, as conditions are matched with them.
    pub facts: &'c Matcher<'c>,
    /// Whether it is critical.
    pub critical: bool,
}

/// The names of effects, as conditions have them.
pub const EFFECTS: [&str; 11] = [
    "runs",
    "reads",
    "writes",
    "deletes",
    "moves",
    "rights",
    "reaches",
    "publishes",
    "privilege",
    "background",
    "unknown",
];

/// What these rules require for a call, each with its place among them; nothing where none fits.
// FAIL-CLOSED: where it is not certain which rule is meant, all that may be have to be met.
#[must_use]
pub fn requirements(rules: &[AnswerRule], people: &People, seen: SeenCall<'_>) -> Vec<Requirement> {
    let fitting = fitting(rules, |rule| rule.when.fit(seen));
    fitting.rules.into_iter().map(|rule| rule.requirement(people, seen.call)).collect()
}

/// The rules that may be meant, up to the first that certainly is.
#[derive(Debug)]
pub(super) struct Fitting<'r, R> {
    pub(super) rules: Vec<&'r R>,
    /// Whether the last of them certainly is; else it may be that none is.
    pub(super) is_certain: bool,
}

pub(super) fn fitting<R>(rules: &[R], fit: impl Fn(&R) -> RuleFit) -> Fitting<'_, R> {
    let mut fitting = Fitting { rules: Vec::new(), is_certain: false };
    for rule in rules {
        match fit(rule) {
            RuleFit::No => {}
            RuleFit::Maybe => fitting.rules.push(rule),
            RuleFit::Yes => {
                fitting.rules.push(rule);
                fitting.is_certain = true;
                break;
            }
        }
    }
    fitting
}

impl AnswerRule {
    fn requirement(&self, people: &People, call: &Call) -> Requirement {
        // A question is answered, and one answer is enough for that.
        let is_question = !call.questions.is_empty();
        let at_most = if is_question { 1 } else { u32::MAX };
        let exclude = match self.exclude {
            None => Exclusion::Nobody,
            Some(Excluded::Requester) => {
                let person =
                    people.requester(call, call.owner.as_ref()).map(|person| person.name.clone());
                Exclusion::Requester { person }
            }
        };
        Requirement {
            rule: self.name.clone(),
            group: self.group.clone(),
            also: Vec::new(),
            approvals: self.approvals.clamp(1, at_most),
            deny: self.deny.clamp(1, at_most),
            count: match self.count {
                VoteUnit::Person => VoteCount::People,
                VoteUnit::Account => VoteCount::Accounts,
            },
            exclude,
        }
    }
}

impl AskConditions {
    pub(super) fn fit(&self, seen: SeenCall<'_>) -> RuleFit {
        let SeenCall { call, facts, critical } = seen;
        let critical =
            self.critical.is_none_or(|wanted| critical == (wanted == Criticality::Critical));
        let all = [
            RuleFit::from(critical),
            name(&self.agent, Some(&call.agent)),
            name(&self.session, Some(&call.session)),
            name(&self.host, call.host.as_deref()),
            facts.tool(&self.tool),
            facts.folder(&self.folder),
            facts.effect(&self.effect),
            facts.command(&self.command),
            facts.path(&self.path),
        ];
        all.into_iter().min().unwrap_or(RuleFit::No)
    }
}

#[cfg(test)]
mod tests;
