//! Warnings about rules that can be used: rules that never match, never win or look mistyped.

use crate::facts::tools::{Kind, canonical, kind_of, known_names};
use crate::rules::verdict::Verdict;
use crate::rules::{RuleEntry, RuleProblem, Rules, Severity, suggest};
use crate::shell;

/// Adds a warning for each rule that a person should look at.
pub(super) fn warnings(rules: &Rules, problems: &mut Vec<RuleProblem>) {
    for (at, entry) in rules.entries().iter().enumerate() {
        let later = rules.entries().get(at + 1..).unwrap_or_default();
        let message =
            mistyped(entry).or_else(|| never_matches(entry)).or_else(|| never_wins(entry, later));
        if let Some(message) = message {
            problems.extend(entry.problem(message, Severity::Warning));
        }
    }
}

fn mistyped(entry: &RuleEntry) -> Option<String> {
    let tool = entry.rule.tool.as_str();
    if canonical(tool) != tool || known_names().any(|name| name == tool) || tool.contains("__") {
        return None;
    }
    let meant = suggest::nearest(tool, known_names().filter(|name| name.len() > 3))?;
    Some(format!("no tool is called {tool:?}; did you mean {meant:?}?"))
}

fn never_matches(entry: &RuleEntry) -> Option<String> {
    let pattern = entry.rule.pattern.as_str();
    if pattern.is_empty() {
        return Some("the empty pattern never matches; write \"*\" for every call".to_owned());
    }
    if pattern.trim() != pattern && kind_of(&entry.rule.tool) == Kind::Shell {
        return Some(format!(
            "{pattern:?} begins or ends with a blank and never matches a command"
        ));
    }
    if pattern.contains("[!") {
        return Some(format!("{pattern:?}: `[!` is not a negation here; write `[^`"));
    }
    match kind_of(&entry.rule.tool) {
        // A literal may be the text of a whole call; a pattern with a wildcard is matched per
        // command.
        Kind::Shell
            if entry.pattern.literal().is_none()
                && shell::scan(pattern).commands.len() > 1
                && entry.rule.verdict == Verdict::Allow =>
        {
            Some(format!(
                "every command of a text is ruled on alone, so {pattern:?} never matches; write \
                 one rule per command"
            ))
        }
        Kind::Read | Kind::Write | Kind::Edit
            if pattern.len() > 1
                && pattern.ends_with('/')
                && entry.rule.verdict == Verdict::Allow =>
        {
            Some(format!("{pattern:?} ends with a slash and never matches a file; add `**`"))
        }
        _ => None,
    }
}

fn never_wins(entry: &RuleEntry, later: &[RuleEntry]) -> Option<String> {
    let tool = canonical(&entry.rule.tool);
    let over = later.iter().find(|other| {
        let same_tool = other.rule.tool == "*" || canonical(&other.rule.tool) == tool;
        let covers = other.pattern.is_all() || other.rule.pattern == entry.rule.pattern;
        // A rule that expires hides the others only until then.
        same_tool && covers && other.lasts()
    })?;
    let line = over.origin().map_or(0, |origin| origin.line);
    Some(format!(
        "this rule never wins: {:?} in line {line} matches all of its calls and comes later",
        if over.rule.tool == "*" { "*" } else { over.rule.pattern.as_str() }
    ))
}
