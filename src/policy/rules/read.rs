//! Reads a rules file: every rule in source order and the operator's programs, every
//! mistake with its position.

use std::sync::Arc;

use jsonc_parser::ast::{Array, Object, ObjectProp, StringLit, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::facts::builtins::builtin;
use crate::facts::programs::description::Access;
use crate::facts::programs::own::{OperatorProgram, OwnCase, OwnForm};
use crate::facts::tools::{Kind, kind_of};
use crate::facts::{programs, reads};
use crate::rules::set::{Example, RuleOrigin, Rules};
use crate::rules::verdict::Verdict;
use crate::rules::{Rule, RuleProblem, Severity, claude, suggest};
use crate::shell::{Word, WordKind};

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
pub(super) const PROGRAMS: &str = "programs";

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
                    "{:?} is not a valid action; the actions are \"allow\", \"ask\" and \"deny\".{hint}",
                    action.value
                ),
            );
        }
        verdict
    }

    fn push(&mut self, tool: &str, pattern: &str, verdict: Verdict, range: Range, segments: bool) {
        let origin = self.origin(range);
        let rule = Rule { tool: tool.to_owned(), pattern: pattern.to_owned(), verdict };
        let class = pattern == reads::CLASS;
        if class && let Some(problem) = misused(tool, verdict) {
            return self.error(range, problem);
        }
        let pushed = if class {
            self.rules.push_reads(rule, Some(origin))
        } else {
            self.rules.push(rule, Some(origin))
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
        let problem = self.origin(range).problem(message, severity);
        self.problems.push(problem);
    }

    fn origin(&self, range: Range) -> RuleOrigin {
        let (line, column) = place(self.text, range.start);
        RuleOrigin { file: Arc::clone(&self.file), line, column }
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

// Rules that are objects: an action with examples and an expiry.

impl RulesReader<'_> {
    fn detail_action(&mut self, object: &Object<'_>) -> Option<Verdict> {
        match object.get_string("action") {
            Some(action) => self.action(action),
            None => {
                self.error(object.range, "a rule object needs an \"action\"");
                None
            }
        }
    }

    /// Reads `match`, `not_match` and `expires` into the rules pushed since `from`.
    fn details(&mut self, object: &Object<'_>, from: usize) {
        let mut examples = Vec::new();
        let mut expires = None;
        for property in &object.properties {
            match (property.name.as_str(), &property.value) {
                ("action", _) => {}
                (word @ ("match" | "not_match"), Value::Array(array)) => {
                    for element in &array.elements {
                        match element {
                            Value::StringLit(text) => examples.push(Example {
                                text: text.value.to_string(),
                                matches: word == "match",
                            }),
                            other => self.error(other.range(), "an example is a string"),
                        }
                    }
                }
                ("expires", Value::StringLit(time)) => {
                    expires = millis(&time.value);
                    if expires.is_none() {
                        self.error(
                            time.range,
                            "\"expires\" is a time like \"2026-12-01\" or \"2026-12-01T08:00:00Z\"",
                        );
                    }
                }
                (word @ ("match" | "not_match" | "expires"), other) => self.error(
                    other.range(),
                    format!("{word:?} has the wrong type; examples are lists, times are strings"),
                ),
                (other, _) => {
                    let known = ["action", "match", "not_match", "expires"];
                    let hint = suggest::nearest(other, known)
                        .map_or_else(String::new, |word| format!(" Did you mean \"{word}\"?"));
                    self.error(
                        property.range,
                        format!(
                            "{other:?} is not known; a rule object has \"action\", \"match\", \
                             \"not_match\" and \"expires\".{hint}"
                        ),
                    );
                }
            }
        }
        for entry in self.rules.entries.iter_mut().skip(from) {
            entry.expires = expires;
            entry.examples.clone_from(&examples);
        }
    }

    /// Returns true for an object that is itself the rule of a tool and not a list of patterns.
    fn is_detail(object: &Object<'_>) -> bool {
        object.get_string("action").is_some()
            && object.properties.iter().any(|p| {
                matches!(
                    (p.name.as_str(), &p.value),
                    ("match" | "not_match", Value::Array(_)) | ("expires", _)
                )
            })
    }
}

// Points in time, as rules files write them.

/// Parses `2026-12-01`, `2026-12-01T08:30:00Z`, or a time with an offset, to milliseconds since
/// 1970.
fn millis(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00:00Z"),
    };
    let mut date = date.splitn(3, '-').map(number);
    let year = date.next()??;
    let month = date.next()??;
    let day = date.next()??;
    let (clock, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (time.get(..at)?, time.get(at..)?),
        None => return None,
    };
    let mut clock = clock.splitn(3, ':');
    let hour = number(clock.next()?)?;
    let minute = number(clock.next()?)?;
    // A leap second is accepted; fractions of a second are cut off.
    let second =
        clock.next().map_or(Some(0), |s| number(s.split('.').next().unwrap_or_default()))?;
    if !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some((seconds - offset_seconds(offset)?) * 1_000)
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn offset_seconds(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    Some(sign * (number(hours)? * 3_600 + number(minutes)? * 60))
}

/// Returns the days since 1970-01-01 in the Gregorian calendar (Howard Hinnant's method).
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year starts in March here, so a leap day is its last day.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

// The operator's own programs: `"programs": { "deployctl": { … } }`.

/// The keys of a description.
const KEYS: [&str; 8] =
    ["values", "reads", "asks", "critical", "operands", "runs", "reaches", "words"];

/// Limit on the words that name a command.
const MOST_WORDS: usize = 5;

impl RulesReader<'_> {
    fn programs(&mut self, object: &Object<'_>) {
        let mut seen: Vec<&str> = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if let Some(problem) = refused(name) {
                self.error(property.range, problem);
            } else if seen.contains(&name) {
                self.error(property.range, format!("{name:?} is described a second time"));
            } else if let Value::Object(description) = &property.value {
                seen.push(name);
                let program = self.program(name, description);
                self.rules.push_program(program);
            } else {
                let form =
                    "a description is an object, like { \"critical\": { \"destroy\": \"why\" } }";
                self.error(property.value.range(), form);
            }
        }
    }

    fn program(&mut self, name: &str, object: &Object<'_>) -> OperatorProgram {
        let mut program = OperatorProgram { name: name.to_owned(), ..OperatorProgram::default() };
        for property in &object.properties {
            match property.name.as_str() {
                "values" => program.values = self.options(property).join(" "),
                "reads" => program.reads = self.forms(property),
                "asks" => program.asks = self.cases(property),
                "critical" => program.critical = self.cases(property),
                "operands" => program.operands = self.access(property),
                "runs" => program.runs = self.texts(property, "a word, like \"--\""),
                "reaches" => program.reaches = self.texts(property, "a host"),
                "words" => program.words = self.count(property),
                other => {
                    let hint = suggest::nearest(other, KEYS)
                        .map_or_else(String::new, |word| format!(" Did you mean \"{word}\"?"));
                    let all = KEYS.join(", ");
                    let message = format!(
                        "{other:?} is not known in the description of {name:?}; it may have \
                         {all}.{hint}"
                    );
                    self.error(property.range, message);
                }
            }
        }
        program
    }

    /// Reads `{ "env destroy --force": "why" }`.
    fn cases(&mut self, property: &ObjectProp<'_>) -> Vec<OwnCase> {
        let key = property.name.as_str();
        let Value::Object(object) = &property.value else {
            self.error(
                property.value.range(),
                format!("{key:?} is an object: {{ \"words\": \"why\" }}"),
            );
            return Vec::new();
        };
        let mut cases = Vec::new();
        for case in &object.properties {
            let words = case.name.as_str();
            match &case.value {
                Value::StringLit(why) if !is_blank(words) && !is_blank(&why.value) => {
                    let words = words.to_owned();
                    let why = why.value.to_string();
                    cases.push(OwnCase { words, why });
                }
                _ => self.error(
                    case.range,
                    format!("{words:?} needs words, and a reason: \"destroy\": \"removes it\""),
                ),
            }
        }
        cases
    }

    /// Reads `{ "status": ["-v", "--output="], "logs": [] }`.
    fn forms(&mut self, property: &ObjectProp<'_>) -> Vec<OwnForm> {
        let Value::Object(object) = &property.value else {
            let form = "\"reads\" is an object: { \"status\": [\"-v\"] }, or \"*\" for every call";
            self.error(property.value.range(), form);
            return Vec::new();
        };
        let mut forms = Vec::new();
        for form in &object.properties {
            let sub = form.name.as_str();
            if sub.trim().is_empty() || sub.split_whitespace().any(|word| word.starts_with('-')) {
                self.error(
                    form.range,
                    "name the sub-command that only reads, or \"*\" for every call",
                );
                continue;
            }
            // `*` is the program without a sub-command.
            let sub = if sub == "*" { String::new() } else { sub.to_owned() };
            forms.push(OwnForm { sub, options: self.options(form).join(" ") });
        }
        forms
    }

    fn options(&mut self, property: &ObjectProp<'_>) -> Vec<String> {
        let options = self.texts(property, "an option, like \"-n\"");
        if options.iter().any(|option| !option.starts_with('-') || option.len() < 2) {
            self.error(property.value.range(), "an option begins with a dash");
        }
        options
    }

    /// Reads a list of texts without blanks, or a single text.
    fn texts(&mut self, property: &ObjectProp<'_>, what: &str) -> Vec<String> {
        let all: Vec<&Value<'_>> = match &property.value {
            Value::Array(array) => array.elements.iter().collect(),
            one => vec![one],
        };
        let mut texts = Vec::new();
        for value in all {
            match value {
                Value::StringLit(text) if !text.value.is_empty() && !text.value.contains(' ') => {
                    texts.push(text.value.to_string());
                }
                other => {
                    let key = property.name.as_str();
                    self.error(other.range(), format!("{key:?} is a list, and this is not {what}"));
                }
            }
        }
        texts
    }

    fn access(&mut self, property: &ObjectProp<'_>) -> Option<Access> {
        let access = match &property.value {
            Value::StringLit(text) => match &*text.value {
                "reads" => Some(Access::Read),
                "writes" => Some(Access::Write),
                "deletes" => Some(Access::Delete),
                "moves" => Some(Access::Move),
                _ => None,
            },
            _ => None,
        };
        if access.is_none() {
            let form = "\"operands\" is \"reads\", \"writes\", \"deletes\" or \"moves\"";
            self.error(property.value.range(), form);
        }
        access
    }

    fn count(&mut self, property: &ObjectProp<'_>) -> Option<usize> {
        let count = match &property.value {
            Value::NumberLit(number) => number.value.parse().ok(),
            _ => None,
        };
        let count = count.filter(|count| (1..=MOST_WORDS).contains(count));
        if count.is_none() {
            let range: Range = property.value.range();
            self.error(range, format!("\"words\" is a number from 1 to {MOST_WORDS}"));
        }
        count
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns why a program of this name cannot be described.
// SECURITY: built-in descriptions cannot be replaced, so no file makes one less strict.
fn refused(name: &str) -> Option<String> {
    let word = Word::made(name, WordKind::Literal);
    if programs::of(name).is_some() || builtin(&[word]).is_some() {
        return Some(format!(
            "{name:?} is known already, and what is built in stays as it is; rules say what of it \
             is allowed"
        ));
    }
    let odd =
        |c: char| c.is_whitespace() || c.is_control() || "/*?[]{}$`'\"\\|&;<>()~#=!".contains(c);
    (name.is_empty() || name.starts_with('-') || name.contains(odd)).then(|| {
        format!(
            "{name:?} is not a valid program name; write it without its folder and without patterns"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::rules::read::millis;

    #[test]
    fn dates_and_times_with_and_without_offset_are_read() {
        assert_eq!(millis("1970-01-01"), Some(0));
        assert_eq!(millis("2026-11-20T12:00:00Z"), Some(1_795_176_000_000));
        assert_eq!(millis("2026-11-20T14:00:00+02:00"), Some(1_795_176_000_000));
        assert_eq!(millis("2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "tomorrow", "2026-13-01", "2026-11-20T25:00:00Z", "2026-11-20T12:00"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
