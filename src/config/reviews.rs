//! `[[reviews]]`: which calls that ran without asking are shown afterwards.

use super::conditions;
use super::node::ConfigNode;
use super::people::{ConfigEntries, group_name};
use super::section::{Section, number, text};
use super::values::length;
use countersign_people::rules::{AllowedBy, AskConditions, ReviewRule};
use std::{num::NonZeroU32, time::Duration};

/// How long a card waits for somebody, where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(86_400);
/// The lowest rate.
const LOWEST: i64 = 1_000_000;

/// Reads the rules.
pub(super) fn read(entries: ConfigEntries, problems: &mut Vec<String>) -> Vec<ReviewRule> {
    let mut rules: Vec<ReviewRule> = Vec::new();
    for (at, (place, table)) in entries.into_iter().enumerate() {
        let mut section = Section::new("[reviews]", Some(place.clone()), table, problems);
        let rule = rule(&mut section, at);
        section.finish();
        let ends =
            |it: &&ReviewRule| it.when == AskConditions::default() && it.allowed_by.is_none();
        match rules.iter().find(ends) {
            Some(earlier) => problems.push(format!(
                "{place}: [[reviews]] is never reached, because `{}` before it has no condition",
                earlier.name
            )),
            None => rules.push(rule),
        }
    }
    rules
}

fn rule(section: &mut Section<'_>, at: usize) -> ReviewRule {
    let name = section.get("name", group_name);
    let when = conditions::read(section);
    let allowed_by = section.get("allowed_by", |node| match text(node)?.as_str() {
        "rule" => Ok(AllowedBy::Rule),
        "grant" => Ok(AllowedBy::Grant),
        _ => Err("can be \"rule\" or \"grant\"".to_owned()),
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
        format!("wants a number from 1 (every call) to {LOWEST}; leave it out to show none")
    })
}
