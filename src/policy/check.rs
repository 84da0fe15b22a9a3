//! Reads and checks rules files: a file whose examples fail is not used.

use serde_json::json;

use crate::engine::decision::{Decision, Layers, Mode, decide};
use crate::engine::guardrail::Guardrail;
use crate::facts::call::Call;
use crate::facts::tools::{Kind, canonical, kind_of, known_names};
use crate::rules::verdict::Verdict;
use crate::rules::{RuleEntry, RuleProblem, Rules, Severity, read, suggest};
use crate::shell;

impl Rules {
    /// Reads a rules file. Problems carry `name`; `home` is what `~/` stands for.
    ///
    /// # Errors
    /// Every problem of the file, each with its position. Nothing of a broken file is used.
    pub fn parse(text: &str, name: &str, home: Option<&str>) -> Result<Self, Vec<RuleProblem>> {
        let (mut rules, mut problems) = read::rules(text, name, home);
        check(&rules, &mut problems);
        let is_broken = problems.iter().any(|problem| problem.severity == Severity::Error);
        if !is_broken {
            warnings(&rules, &mut problems);
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if is_broken {
            return Err(problems);
        }
        rules.set_warnings(problems);
        Ok(rules)
    }
}

// Warnings about rules that can be used: rules that never match, never win or look mistyped.

/// Adds a warning for each rule that a person should look at.
fn warnings(rules: &Rules, problems: &mut Vec<RuleProblem>) {
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
                "every command of a text is checked alone, so {pattern:?} never matches; write \
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
    let line = over.origin.as_ref().map_or(0, |origin| origin.line);
    Some(format!(
        "this rule never wins: {:?} in line {line} matches all of its calls and comes later",
        if over.rule.tool == "*" { "*" } else { over.rule.pattern.as_str() }
    ))
}

// Examples beside rules: each has to hold for its rule alone.

/// Checks the examples beside rules; each that fails is an error.
fn check(rules: &Rules, problems: &mut Vec<RuleProblem>) {
    for entry in rules.entries() {
        for example in &entry.examples {
            if matches_alone(entry, &example.text, rules.home()) != example.matches {
                let says = if example.matches { "does not match" } else { "matches" };
                let message = format!(
                    "the rule {:?} {says} its example {:?}",
                    entry.rule.pattern, example.text
                );
                problems.extend(entry.problem(message, Severity::Error));
            }
        }
    }
}

/// Returns true when the rule alone decides about the example.
fn matches_alone(entry: &RuleEntry, example: &str, home: Option<&str>) -> bool {
    // The verdict for an ask looks the same as without any rule. The ask is tried as a deny,
    // because both match alike.
    let verdict = match entry.rule.verdict {
        Verdict::Allow => Verdict::Allow,
        Verdict::Ask | Verdict::Deny => Verdict::Deny,
    };
    Rules::of_one(entry, verdict, home)
        .is_some_and(|alone| decision(&alone, &entry.rule.tool, example, 0).verdict == verdict)
}

/// Decides the call that an example stands for, with these rules alone.
pub fn decision(rules: &Rules, tool: &str, example: &str, now_ms: i64) -> Decision {
    let grants = Rules::default();
    let guardrail = Guardrail::default();
    let layers = Layers::new(rules, &grants, &guardrail, now_ms);
    decide(&call(tool, example), &layers, Mode::Default)
}

/// Builds the call that a rule's example stands for.
#[must_use]
pub fn call(tool: &str, value: &str) -> Call {
    let key = match kind_of(tool) {
        Kind::Shell => "command",
        Kind::Read | Kind::Write | Kind::Edit | Kind::Grep => "path",
        Kind::Glob => "pattern",
        Kind::Skill => "name",
        Kind::Fetch => "url",
        Kind::Question | Kind::Other => "value",
    };
    Call::new(canonical(tool), json!({ key: value }))
}
