//! Reads a rules file: every rule in source order, every mistake with its position.

mod details;
mod programs;

use std::sync::Arc;

use jsonc_parser::ast::{Array, Object, ObjectProp, StringLit, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::claude;
use super::entry::RuleOrigin;
use super::problem::{RuleProblem, Severity};
use super::rule::Rule;
use super::set::Rules;
use super::suggest;
use super::verdict::Verdict;
use crate::facts::reads;
use crate::facts::tools::{Kind, kind_of};

/// Extensions of JSON that are accepted: comments and trailing commas, nothing else.
pub const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The key whose object describes programs; it does not name a tool.
pub(crate) const PROGRAMS: &str = "programs";

/// Reads the rules of a file and its problems. Nothing of a file with errors may be used.
pub(crate) fn rules(text: &str, name: &str, home: Option<&str>) -> (Rules, Vec<RuleProblem>) {
    // The JSON parser refuses a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        RulesReader { text, file: name.into(), problems: Vec::new(), rules: Rules::at_home(home) };
    match parse_to_ast(text, &CollectOptions::default(), &OPTIONS) {
        Err(error) => {
            reader.error(error.range(), format!("this is not valid JSONC: {}", error.kind()))
        }
        Ok(parsed) => match parsed.value {
            Some(Value::Object(object)) => reader.object(&object),
            Some(Value::Array(array)) => reader.flat(&array),
            Some(other) => {
                reader.error(other.range(), "rules are an object: { \"tool\": \"ask\" }");
            }
            None => reader.error(
                Range::new(0, 0),
                "the file is empty; write {} for no rules (everything asks)",
            ),
        },
    }
    (reader.rules, reader.problems)
}

struct RulesReader<'t> {
    text: &'t str,
    file: Arc<str>,
    problems: Vec<RuleProblem>,
    rules: Rules,
}

impl RulesReader<'_> {
    /// Reads `{ "tool": … }`, where Claude's lists of strings may stand among the tools.
    fn object(&mut self, object: &Object<'_>) {
        let mut seen: Vec<&str> = Vec::new();
        let mut lists: Vec<(Verdict, &Array<'_>)> = Vec::new();
        for property in &object.properties {
            let tool = property.name.as_str();
            // The tree keeps duplicate keys in source order. A map would keep one and drop the
            // rules of the other.
            if seen.contains(&tool) {
                self.warn(
                    property.range,
                    format!("{tool:?} is here a second time; both are used, in this order"),
                );
            }
            seen.push(tool);
            match (&property.value, Verdict::from_word(tool)) {
                (Value::Array(array), Some(verdict)) => lists.push((verdict, array)),
                _ if tool == "$schema" => {}
                (Value::Object(descriptions), _) if tool == PROGRAMS => self.programs(descriptions),
                _ => self.tool(property),
            }
        }
        // The last match wins, so this order yields Claude's deny > ask > allow.
        lists.sort_by_key(|(verdict, _)| *verdict);
        for (verdict, array) in lists {
            self.list(verdict, array);
        }
    }

    fn tool(&mut self, property: &ObjectProp<'_>) {
        let tool = property.name.as_str();
        match &property.value {
            Value::StringLit(action) => {
                if let Some(verdict) = self.action(action) {
                    self.tool_rules(tool, verdict, property.range);
                }
            }
            Value::Object(object) if Self::is_detail(object) => {
                let from = self.rules.entries.len();
                if let Some(verdict) = self.detail_action(object) {
                    self.tool_rules(tool, verdict, property.range);
                    self.details(object, from);
                }
            }
            Value::Object(object) if claude::call_form(tool).is_none() => {
                for property in &object.properties {
                    self.pattern(tool, property);
                }
            }
            other => self.error(
                other.range(),
                format!(
                    "{tool:?} needs \"allow\", \"ask\", \"deny\" or an object of patterns, like \
                     {{ \"git *\": \"allow\" }}"
                ),
            ),
        }
    }

    /// Adds every rule that a key with one action stands for.
    fn tool_rules(&mut self, key: &str, verdict: Verdict, range: Range) {
        match claude::call_form(key) {
            Some(meaning) => self.meaning(meaning, verdict, range),
            None => self.push(key, "*", verdict, range, false),
        }
    }

    fn meaning(&mut self, meaning: claude::Meaning, verdict: Verdict, range: Range) {
        for (tool, pattern) in meaning.rules {
            self.push(&tool, &pattern, verdict, range, meaning.segments);
        }
    }

    fn pattern(&mut self, tool: &str, property: &ObjectProp<'_>) {
        let pattern = property.name.as_str();
        let from = self.rules.entries.len();
        match &property.value {
            Value::StringLit(action) => {
                if let Some(verdict) = self.action(action) {
                    self.push(tool, pattern, verdict, property.range, false);
                }
            }
            Value::Object(object) => {
                if let Some(verdict) = self.detail_action(object) {
                    self.push(tool, pattern, verdict, property.range, false);
                    self.details(object, from);
                }
            }
            other => self.error(
                other.range(),
                format!(
                    "{pattern:?} needs \"allow\", \"ask\", \"deny\" or an object with an \"action\""
                ),
            ),
        }
    }

    fn list(&mut self, verdict: Verdict, array: &Array<'_>) {
        for element in &array.elements {
            match element {
                Value::StringLit(text) => {
                    self.meaning(claude::entry(&text.value), verdict, text.range);
                }
                other => self.error(
                    other.range(),
                    "this list holds strings like \"Bash(git diff *)\" or a tool's name",
                ),
            }
        }
    }

    /// Reads the flat form: `[{ "permission": …, "pattern": …, "action": … }]`.
    fn flat(&mut self, array: &Array<'_>) {
        for element in &array.elements {
            let rule = element.as_object().and_then(|object| {
                let tool = object.get_string("permission").or_else(|| object.get_string("tool"))?;
                let action =
                    object.get_string("action").or_else(|| object.get_string("verdict"))?;
                Some((tool, object.get_string("pattern")?, action))
            });
            let Some((tool, pattern, action)) = rule else {
                self.error(
                    element.range(),
                    "a rule of a list needs \"permission\", \"pattern\" and \"action\"",
                );
                continue;
            };
            if let Some(verdict) = self.action(action) {
                self.push(&tool.value, &pattern.value, verdict, element.range(), false);
            }
        }
    }

    fn action(&mut self, action: &StringLit<'_>) -> Option<Verdict> {
        let verdict = Verdict::from_word(&action.value);
        if verdict.is_none() {
            let hint = suggest::nearest(&action.value, ["allow", "ask", "deny"])
                .map_or_else(String::new, |word| format!(" Did you mean \"{word}\"?"));
            self.error(
                action.range,
                format!(
                    "{:?} is no action; the actions are \"allow\", \"ask\" and \"deny\".{hint}",
                    action.value
                ),
            );
        }
        verdict
    }

    fn push(&mut self, tool: &str, pattern: &str, verdict: Verdict, range: Range, segments: bool) {
        let (line, column) = place(self.text, range.start);
        let origin = RuleOrigin { file: Arc::clone(&self.file), line, column };
        let rule = Rule { tool: tool.to_owned(), pattern: pattern.to_owned(), verdict };
        let class = pattern == reads::CLASS;
        if class && let Some(problem) = misused(tool, verdict) {
            return self.error(range, problem);
        }
        let pushed = match class {
            true => self.rules.push_reads(rule, Some(origin)),
            false => self.rules.push(rule, Some(origin)),
        };
        let pushed = pushed.and_then(|entry| {
            // Kept within directories, `*` would no longer match every call.
            if segments && !entry.pattern.is_all() && !class {
                let inside = entry.pattern.clone().within_directories();
                entry.pattern = inside.map_err(|error| error.to_string())?;
            }
            Ok(())
        });
        if let Err(message) = pushed {
            self.error(range, message);
        }
    }

    fn error(&mut self, range: Range, message: impl Into<String>) {
        self.say(range, message.into(), Severity::Error);
    }

    fn warn(&mut self, range: Range, message: impl Into<String>) {
        self.say(range, message.into(), Severity::Warning);
    }

    fn say(&mut self, range: Range, message: String, severity: Severity) {
        let (line, column) = place(self.text, range.start);
        self.problems.push(RuleProblem {
            file: self.file.to_string(),
            line,
            column,
            message,
            severity,
        });
    }
}

/// Returns why the class of reading calls cannot be used there.
fn misused(tool: &str, verdict: Verdict) -> Option<String> {
    let kinds = [Kind::Shell, Kind::Read, Kind::Glob, Kind::Grep];
    if verdict != Verdict::Allow {
        return Some("\"@reads\" can only be allowed; what no rule allows is asked".to_owned());
    }
    (!kinds.contains(&kind_of(tool))).then(|| {
        format!("\"@reads\" is known for shell_exec, read_file, glob and grep, not for {tool:?}")
    })
}

/// Returns line and column of a byte offset, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}
