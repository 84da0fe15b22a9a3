//! Which asks need whose answers: rules of the config, the first that fits. Pure.
//!
//! A rule with commands or paths fits a call if any of its commands may be meant, and ends the
//! search only if it is certain that all are: `cargo test && git push` meets the rules of both.

use super::{
    ask::{
        call::Call,
        requirement::{Exclusion, Requirement, VoteCount},
    },
    people::People,
};
use countersign_policy::{
    self as policy, Guardrail, Layers, Mode, Rule, Rules, Verdict, effects::Effect, glob::Glob,
};

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
    /// As policy sees it.
    pub facts: &'c policy::Call,
    /// What it touches.
    pub effects: &'c [Effect],
    /// Whether it is critical.
    pub critical: bool,
}

/// Whether a rule fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleFit {
    No,
    /// It may; or it does for a part of the call.
    Maybe,
    Yes,
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
    fitting.into_iter().map(|rule| rule.requirement(people, seen.call)).collect()
}

/// The rules that may be meant, up to the first that certainly is.
pub(super) fn fitting<R>(rules: &[R], fit: impl Fn(&R) -> RuleFit) -> Vec<&R> {
    let mut fitting = Vec::new();
    for rule in rules {
        match fit(rule) {
            RuleFit::No => {}
            RuleFit::Maybe => fitting.push(rule),
            RuleFit::Yes => {
                fitting.push(rule);
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
        let SeenCall { call, facts, effects, critical } = seen;
        let critical = match self.critical {
            None => RuleFit::Yes,
            Some(wanted) => yes(critical == (wanted == Criticality::Critical)),
        };
        let tools = [call.tool.as_str(), facts.canonical_tool()];
        let all = [
            critical,
            name(&self.agent, Some(&call.agent)),
            name(&self.session, Some(&call.session)),
            name(&self.host, call.host.as_deref()),
            name(&self.folder, call.cwd.as_deref()),
            tools
                .into_iter()
                .map(|tool| name(&self.tool, Some(tool)))
                .max()
                .unwrap_or(RuleFit::Yes),
            self.effects(effects),
            matched("shell_exec", &self.command, facts),
            matched("*", &self.path, facts),
        ];
        all.into_iter().min().unwrap_or(RuleFit::No)
    }

    // FAIL-CLOSED: an effect that nobody knows may be any.
    fn effects(&self, effects: &[Effect]) -> RuleFit {
        let named = |effect: &Effect| self.effect.iter().any(|name| name == effect_name(effect));
        match self.effect.is_empty() || effects.iter().any(named) {
            true => RuleFit::Yes,
            false if effects.iter().any(|it| matches!(it, Effect::Unknown { .. })) => {
                RuleFit::Maybe
            }
            false => RuleFit::No,
        }
    }
}

fn yes(holds: bool) -> RuleFit {
    if holds { RuleFit::Yes } else { RuleFit::No }
}

/// Whether a name fits one of the patterns.
// FAIL-CLOSED: what the caller leaves out may be anything, and a pattern that cannot be used fits.
fn name(patterns: &[String], name: Option<&str>) -> RuleFit {
    if patterns.is_empty() {
        return RuleFit::Yes;
    }
    let Some(name) = name else { return RuleFit::Maybe };
    let reaches = |pattern: &String| Glob::parse(pattern).is_ok_and(|glob| glob.reaches(name));
    let unusable = |pattern: &String| Glob::parse(pattern).is_err();
    match (patterns.iter().any(reaches), patterns.iter().any(unusable)) {
        (true, _) => RuleFit::Yes,
        (false, true) => RuleFit::Maybe,
        (false, false) => RuleFit::No,
    }
}

/// Whether a call meets patterns as a deny rule would, and all of it as an allow rule would.
pub(super) fn matched(tool: &str, patterns: &[String], facts: &policy::Call) -> RuleFit {
    if patterns.is_empty() {
        return RuleFit::Yes;
    }
    let rule = |verdict| {
        let with = move |pattern: &String| Rule { verdict, ..Rule::allow(tool, pattern) };
        patterns.iter().map(with).collect::<Vec<_>>()
    };
    let every = |verdict| Rule { verdict, ..Rule::allow("*", "*") };
    let denies = rule(Verdict::Deny);
    let strikes = decide(facts, &[vec![every(Verdict::Allow)], denies.clone()].concat());
    let meant = |decided: &policy::BriefDecision| {
        decided.deciding_rule.as_ref().is_some_and(|rule| denies.contains(rule))
    };
    match strikes.verdict {
        Verdict::Deny => {
            let covers = decide(facts, &[vec![every(Verdict::Ask)], rule(Verdict::Allow)].concat());
            if covers.verdict == Verdict::Allow { RuleFit::Yes } else { RuleFit::Maybe }
        }
        // A word that is only known when it runs, or a text that nobody could read.
        Verdict::Ask if meant(&strikes) || !strikes.understood => RuleFit::Maybe,
        Verdict::Allow | Verdict::Ask => RuleFit::No,
    }
}

fn decide(facts: &policy::Call, rules: &[Rule]) -> policy::BriefDecision {
    let (rules, none, guardrail) =
        (Rules::from_rules(rules), Rules::default(), Guardrail::default());
    let layers =
        Layers { agent: None, rules: &rules, grants: &none, guardrail: &guardrail, now_ms: 0 };
    policy::decide_briefly(facts, &layers, Mode::Default)
}

fn effect_name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Runs { .. } => "runs",
        Effect::Reads(_) => "reads",
        Effect::Writes(_) => "writes",
        Effect::Deletes(_) => "deletes",
        Effect::Moves(_) => "moves",
        Effect::Rights(_) => "rights",
        Effect::Reaches { .. } => "reaches",
        Effect::Publishes { .. } => "publishes",
        Effect::Privilege { .. } => "privilege",
        Effect::Background => "background",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests;
