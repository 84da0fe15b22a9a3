//! `[[answer_rules]]`: whose answers which asks need.

use super::conditions;
use super::node::ConfigNode;
use super::people::{ConfigEntries, group_name};
use super::section::{Section, flag, nearest, number, text};
use countersign_people::{
    approvers::People,
    rules::{AnswerRule, AskConditions, Excluded, VoteUnit},
};

/// More votes than this nobody waits for.
const MOST: i64 = 16;

/// Reads the rules, for these people.
pub(super) fn read(
    entries: ConfigEntries,
    people: &People,
    problems: &mut Vec<String>,
) -> Vec<AnswerRule> {
    let mut rules: Vec<AnswerRule> = Vec::new();
    for (at, (place, table)) in entries.into_iter().enumerate() {
        let mut section = Section::new("[answer_rules]", Some(place.clone()), table, problems);
        let rule = rule(&mut section, people, at);
        section.finish();
        match rules.iter().find(|earlier| earlier.when == AskConditions::default()) {
            Some(earlier) => problems.push(format!(
                "{place}: [[answer_rules]] is never reached, because `{}` before it has no \
                 condition",
                earlier.name
            )),
            None => rules.push(rule),
        }
    }
    rules
}

fn rule(section: &mut Section<'_>, people: &People, at: usize) -> AnswerRule {
    let name = section.get("name", group_name);
    let when = conditions::read(section);
    let group = section.get("group", |node| known_group(node, people));
    let approvals = section.get("approvals", count);
    let deny = section.get("deny", count);
    let count = section.get("distinct", flag).map(|distinct| match distinct {
        true => VoteUnit::Person,
        false => VoteUnit::Account,
    });
    let exclude = section.get("exclude", |node| match text(node)?.as_str() {
        "requester" => Ok(Excluded::Requester),
        _ => Err("can only be \"requester\"".to_owned()),
    });
    if group.is_none() && approvals.is_none() && deny.is_none() && exclude.is_none() {
        section.problem("asks for nothing; give `group`, `approvals`, `deny` or `exclude`");
    }
    let approvals = approvals.unwrap_or(1);
    let count = count.unwrap_or_default();
    if let Some(have) = too_few(people, group.as_deref(), count, approvals) {
        section.problem(&format!("needs {approvals} approvals of people with a name, and {have}"));
    }
    AnswerRule {
        name: name.unwrap_or_else(|| format!("answer rule {}", at.saturating_add(1))),
        when,
        group,
        approvals,
        deny: deny.unwrap_or(1),
        count,
        exclude,
    }
}

/// How many people there are, where that is not enough.
// FAIL-CLOSED: such a rule could only ever deny; its operator learns so at once.
fn too_few(
    people: &People,
    group: Option<&str>,
    count: VoteUnit,
    approvals: u32,
) -> Option<String> {
    let by_role = |group: &&str| people.groups.iter().any(|it| it.name == **group);
    if count == VoteUnit::Account || approvals < 2 || group.as_ref().is_some_and(by_role) {
        return None;
    }
    let (have, of) = match group {
        Some(group) => (people.members(group).count(), format!("the group `{group}` has")),
        None => (people.named.len(), "[[people]] has".to_owned()),
    };
    (have < approvals as usize).then(|| format!("{of} {have}"))
}

fn count(node: &ConfigNode) -> Result<u32, String> {
    let count = number(node)?;
    let fits = u32::try_from(count).ok().filter(|_| (1..=MOST).contains(&count));
    fits.ok_or_else(|| format!("wants a number from 1 to {MOST}"))
}

/// A group that exists.
pub(super) fn known_group(node: &ConfigNode, people: &People) -> Result<String, String> {
    let group = group_name(node)?;
    if people.has_group(&group) {
        return Ok(group);
    }
    let of_people = people.named.iter().flat_map(|person| &person.groups);
    let mut known: Vec<&str> = of_people.map(String::as_str).collect();
    known.extend(people.groups.iter().map(|group| group.name.as_str()));
    known.sort_unstable();
    known.dedup();
    Err(match (nearest(&group, &known), known.is_empty()) {
        (Some(near), _) => format!("names the group `{group}`; did you mean `{near}`?"),
        (None, true) => format!("names the group `{group}`, and nobody in [[people]] has a group"),
        (None, false) => {
            format!("names the group `{group}`; the groups are {}", known.join(", "))
        }
    })
}
