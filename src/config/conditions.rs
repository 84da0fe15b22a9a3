//! What answer rules and routes fit.

use super::node::{ConfigNode, ConfigValue};
use super::section::{Section, flag, nearest, text};
use countersign_people::rules::{AskConditions, Criticality, EFFECTS};
use countersign_policy::{Rule, Rules, glob::Glob};

/// Reads the conditions of an entry.
pub(super) fn read(section: &mut Section<'_>) -> AskConditions {
    AskConditions {
        agent: section.get("agent", globs).unwrap_or_default(),
        session: section.get("session", globs).unwrap_or_default(),
        host: section.get("host", globs).unwrap_or_default(),
        folder: section.get("folder", globs).unwrap_or_default(),
        tool: section.get("tool", globs).unwrap_or_default(),
        command: section.get("command", |node| patterns("shell_exec", node)).unwrap_or_default(),
        path: section.get("path", |node| patterns("*", node)).unwrap_or_default(),
        effect: section.get("effect", effects).unwrap_or_default(),
        critical: section.get("critical", flag).map(|critical| match critical {
            true => Criticality::Critical,
            false => Criticality::Ordinary,
        }),
    }
}

/// One text or a list of them.
pub(super) fn texts(node: &ConfigNode) -> Result<Vec<String>, String> {
    let texts: Vec<String> = match node.value() {
        ConfigValue::List(list) => list.iter().map(text).collect::<Result<_, _>>()?,
        _ => vec![text(node)?],
    };
    match texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
        true => Err("is empty; leave it out to fit everything".to_owned()),
        false => Ok(texts),
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
        Some(unknown) => Err(match nearest(unknown, &EFFECTS) {
            Some(near) => format!("names the effect `{unknown}`; did you mean `{near}`?"),
            None => {
                format!("names the effect `{unknown}`; the effects are {}", EFFECTS.join(", "))
            }
        }),
    }
}
