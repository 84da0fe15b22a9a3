//! `[[answer_rules]]` and `[[reviews]]`: whose answers which asks need, and which calls that ran
//! without asking are shown afterwards; with the conditions that they share with routes.

use super::{
    people::group_name,
    section::{
        ConfigEntries, ConfigNode, ConfigValue, Section, flag, is_reached, number, text, unknown,
    },
    values::length,
};
use countersign_domain::requirement::VoteCount;
use countersign_people::{
    approvers::People,
    rules::{AllowedBy, AnswerRule, AskConditions, EFFECTS, Excluded, ReviewRule},
};
use countersign_policy::{Rule, Rules, glob::Glob};
use std::{num::NonZeroU32, time::Duration};

/// More votes than this nobody waits for.
const MOST: i64 = 16;

/// Reads the rules, for these people.
pub(super) fn read(
    entries: ConfigEntries,
    people: &People,
    problems: &mut Vec<String>,
) -> Vec<AnswerRule> {
    entries.read(problems, |section, earlier: &[AnswerRule]| {
        let rule = rule(section, people, earlier.len());
        let last = earlier.iter().find(|it| it.when == AskConditions::default());
        is_reached(section, last.map(|it| it.name.as_str())).then_some(rule)
    })
}

fn rule(section: &mut Section<'_>, people: &People, at: usize) -> AnswerRule {
    let name = section.get("name", group_name);
    let when = conditions(section);
    let group = section.get("group", |node| known_group(node, people));
    let approvals = section.get("approvals", count);
    let deny = section.get("deny", count);
    let count = section
        .get("distinct", flag)
        .map(|distinct| if distinct { VoteCount::People } else { VoteCount::Accounts });
    let exclude = section.get("exclude", |node| match text(node)?.as_str() {
        "requester" => Ok(Excluded::Requester),
        _ => Err("must be \"requester\"".to_owned()),
    });
    let reason = section.get("reason", |node| match text(node)?.as_str() {
        "required" => Ok(()),
        _ => Err("must be \"required\"".to_owned()),
    });
    let counts = group.is_some() || approvals.is_some() || deny.is_some() || exclude.is_some();
    if !counts && reason.is_none() {
        section
            .problem("asks for nothing; give `group`, `approvals`, `deny`, `exclude` or `reason`");
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
        needs_reason: reason.is_some(),
    }
}

/// How many people there are, where that is not enough.
// FAIL-CLOSED: such a rule could only ever deny; its operator learns so at once.
fn too_few(
    people: &People,
    group: Option<&str>,
    count: VoteCount,
    approvals: u32,
) -> Option<String> {
    let by_role = |group: &&str| people.groups.iter().any(|it| it.name == **group);
    if count == VoteCount::Accounts || approvals < 2 || group.as_ref().is_some_and(by_role) {
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
    fits.ok_or_else(|| format!("must be a number from 1 to {MOST}"))
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
    Err(unknown("group", &group, &known, "nobody in [[people]] has a group"))
}

/// How long a card waits for somebody, where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(86_400);
/// The lowest rate.
const LOWEST: i64 = 1_000_000;

/// Reads the rules.
pub(super) fn read_reviews(entries: ConfigEntries, problems: &mut Vec<String>) -> Vec<ReviewRule> {
    entries.read(problems, |section, earlier: &[ReviewRule]| {
        let rule = review_rule(section, earlier.len());
        let ends =
            |it: &&ReviewRule| it.when == AskConditions::default() && it.allowed_by.is_none();
        let last = earlier.iter().find(ends);
        is_reached(section, last.map(|it| it.name.as_str())).then_some(rule)
    })
}

fn review_rule(section: &mut Section<'_>, at: usize) -> ReviewRule {
    let name = section.get("name", group_name);
    let when = conditions(section);
    let allowed_by = section.get("allowed_by", |node| match text(node)?.as_str() {
        "rule" => Ok(AllowedBy::Rule),
        "grant" => Ok(AllowedBy::Grant),
        _ => Err("must be \"rule\" or \"grant\"".to_owned()),
    });
    if section.has("critical") {
        section.problem("has `critical`, and a critical call never runs without asking");
    }
    let one_in = section.get("one_in", one_in);
    let timeout = section.get("timeout", length).unwrap_or(TIMEOUT);
    ReviewRule {
        name: name.unwrap_or_else(|| format!("review {}", at.saturating_add(1))),
        when,
        allowed_by,
        one_in,
        timeout_ms: i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 2),
    }
}

fn one_in(node: &ConfigNode) -> Result<NonZeroU32, String> {
    let many = number(node)?;
    let fits = u32::try_from(many).ok().filter(|_| (1..=LOWEST).contains(&many));
    fits.and_then(NonZeroU32::new).ok_or_else(|| {
        format!("must be a number from 1 (every call) to {LOWEST}; leave it out to show none")
    })
}

/// Reads the conditions of an entry.
pub(super) fn conditions(section: &mut Section<'_>) -> AskConditions {
    AskConditions {
        agent: section.get("agent", globs).unwrap_or_default(),
        session: section.get("session", globs).unwrap_or_default(),
        host: section.get("host", globs).unwrap_or_default(),
        folder: section.get("folder", globs).unwrap_or_default(),
        tool: section.get("tool", globs).unwrap_or_default(),
        command: section.get("command", |node| patterns("shell_exec", node)).unwrap_or_default(),
        path: section.get("path", |node| patterns("*", node)).unwrap_or_default(),
        effect: section.get("effect", effects).unwrap_or_default(),
        critical: section.get("critical", flag),
    }
}

/// One text or a list of them.
pub(super) fn texts(node: &ConfigNode) -> Result<Vec<String>, String> {
    let texts: Vec<String> = match node.value() {
        ConfigValue::List(list) => list.iter().map(text).collect::<Result<_, _>>()?,
        _ => vec![text(node)?],
    };
    if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        Err("is empty; leave it out to fit everything".to_owned())
    } else {
        Ok(texts)
    }
}

fn globs(node: &ConfigNode) -> Result<Vec<String>, String> {
    let globs = texts(node)?;
    match globs.iter().find_map(|glob| Some((glob, Glob::parse(glob).err()?))) {
        Some((glob, error)) => Err(format!("has a pattern that cannot be used, `{glob}`: {error}")),
        None => Ok(globs),
    }
}

/// Patterns as in rules files.
fn patterns(tool: &str, node: &ConfigNode) -> Result<Vec<String>, String> {
    let patterns = texts(node)?;
    let unusable =
        |pattern: &&String| Rules::from_grants(&[Rule::allow(tool, pattern.as_str())]).is_empty();
    match patterns.iter().find(unusable) {
        Some(pattern) => Err(format!("has a pattern that cannot be used: `{pattern}`")),
        None => Ok(patterns),
    }
}

fn effects(node: &ConfigNode) -> Result<Vec<String>, String> {
    let effects = texts(node)?;
    match effects.iter().find(|effect| !EFFECTS.contains(&effect.as_str())) {
        None => Ok(effects),
        Some(effect) => Err(unknown("effect", effect, &EFFECTS, "there are none")),
    }
}
