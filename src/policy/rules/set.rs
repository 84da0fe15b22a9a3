//! An ordered set of rules, and a small summary of each that excludes most without reading them.

use std::fmt;
use std::sync::Arc;

use crate::facts::programs::own::{OperatorProgram, OwnPrograms};
use crate::facts::tools::canonical;
use crate::glob::{Glob, GlobError};
use crate::rules::pattern::{Head, Pattern};
use crate::rules::verdict::Verdict;
use crate::rules::{Rule, RuleProblem, Severity};

/// An ordered set of rules; the last one that matches wins.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(super) keys: Vec<ToolKey>,
    pub(super) entries: Vec<RuleEntry>,
    /// One mark for each entry, at the same index.
    marks: Vec<Mark>,
    warnings: Vec<RuleProblem>,
    home: Option<Box<str>>,
    programs: OwnPrograms,
}

impl Rules {
    /// Creates an empty set; `home` is what `~/` stands for in later rules.
    pub(super) fn at_home(home: Option<&str>) -> Self {
        Self { home: home.map(Into::into), ..Self::default() }
    }

    /// Creates a set of one entry, with the given verdict.
    pub(crate) fn of_one(entry: &RuleEntry, verdict: Verdict, home: Option<&str>) -> Option<Self> {
        let mut rules = Self::at_home(home);
        let rule = Rule { verdict, ..entry.rule.clone() };
        if entry.pattern.is_reads() {
            rules.push_reads(rule, None).ok()?;
            return Some(rules);
        }
        let alone = rules.push(rule, None).ok()?;
        // The head does not depend on how stars are read.
        alone.pattern = entry.pattern.clone();
        Some(rules)
    }

    /// Returns the warnings about a file that can be used.
    #[must_use]
    pub fn warnings(&self) -> &[RuleProblem] {
        &self.warnings
    }

    /// Creates a set from rules that are not from a file. A rule whose pattern cannot be used is
    /// replaced by one that asks about (or denies) every call of its tool.
    #[must_use]
    pub fn from_rules(rules: &[Rule]) -> Self {
        let mut set = Self::default();
        for rule in rules {
            if set.push(rule.clone(), None).is_err() {
                // FAIL-CLOSED: an unusable allow is dropped, an unusable ask or deny applies to
                // every call.
                if rule.verdict != Verdict::Allow {
                    let all = Rule { pattern: "*".to_owned(), ..rule.clone() };
                    let _ = set.push(all, None);
                }
            }
        }
        set
    }

    /// Creates a set from rules that people granted. Each applies to the tool of exactly that name.
    /// A rule whose pattern cannot be used is left out.
    // SECURITY: the tool names come from agents and are never read as patterns.
    #[must_use]
    pub fn from_grants(grants: &[Rule]) -> Self {
        Self::default().with_grants(grants)
    }

    /// Returns the same rules followed by these grants.
    #[must_use]
    pub fn with_grants(mut self, grants: &[Rule]) -> Self {
        for rule in grants {
            // FAIL-CLOSED: an unusable grant is dropped.
            if let Ok(pattern) = Pattern::new(&rule.pattern, self.home.as_deref()) {
                let key = self.literal_key(&rule.tool);
                let _ = self.push_pattern(key, rule.clone(), pattern, None);
            }
        }
        self
    }

    /// Returns the same rules as if everything were allowed that none of them names. A first rule
    /// that asks for every call of every tool is the default of its file, and names nothing.
    #[must_use]
    pub fn with_free_default(&self) -> Self {
        let keys = self.keys.clone();
        let home = self.home.clone();
        let programs = self.programs.clone();
        let mut free = Self { keys, home, programs, ..Self::default() };
        // FAIL-CLOSED: without that rule more asks, not less.
        let _ = free.push(Rule::allow("*", "*"), None);
        for (at, entry) in self.entries.iter().enumerate() {
            let is_default = at == 0
                && entry.rule.tool == "*"
                && entry.rule.verdict == Verdict::Ask
                && entry.pattern.is_all();
            if let Some(mark) = self.marks.get(at).filter(|_| !is_default) {
                free.marks.push(*mark);
                free.entries.push(entry.clone());
            }
        }
        free
    }

    /// Returns the programs that the file describes.
    pub(crate) fn programs(&self) -> &OwnPrograms {
        &self.programs
    }

    pub(super) fn push_program(&mut self, program: OperatorProgram) {
        self.programs.push(program);
    }

    /// Iterates over the rules in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.entries.iter().map(|entry| &entry.rule)
    }

    /// Returns true when some rule allows calls that only read.
    pub(crate) fn allows_reading(&self) -> bool {
        self.entries.iter().any(|entry| entry.pattern.is_reads())
    }

    /// Returns true when the set has no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the rules that have not expired, in order, each with its label.
    pub fn in_force(&self, now_ms: i64) -> impl Iterator<Item = (&Rule, &str)> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.lives(now_ms)).map(|entry| (&entry.rule, &*entry.label))
    }

    /// Iterates over the examples, each with its rule and the rule's label.
    pub fn examples(&self) -> impl Iterator<Item = (&Rule, &str, &Example)> {
        self.entries.iter().flat_map(|entry| {
            entry.examples.iter().map(|example| (&entry.rule, &*entry.label, example))
        })
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    pub(crate) fn set_warnings(&mut self, warnings: Vec<RuleProblem>) {
        self.warnings = warnings;
    }

    pub(crate) fn entries(&self) -> &[RuleEntry] {
        &self.entries
    }

    pub(super) fn push(
        &mut self,
        rule: Rule,
        origin: Option<RuleOrigin>,
    ) -> Result<&mut RuleEntry, String> {
        let key = self.key(&rule.tool)?;
        let pattern =
            Pattern::new(&rule.pattern, self.home.as_deref()).map_err(|error| error.to_string())?;
        self.push_pattern(key, rule, pattern, origin)
    }

    /// Appends a rule for the class of calls that only read.
    pub(crate) fn push_reads(
        &mut self,
        rule: Rule,
        origin: Option<RuleOrigin>,
    ) -> Result<&mut RuleEntry, String> {
        let key = self.key(&rule.tool)?;
        let pattern = Pattern::reads().map_err(|error| error.to_string())?;
        self.push_pattern(key, rule, pattern, origin)
    }

    fn push_pattern(
        &mut self,
        key: usize,
        rule: Rule,
        pattern: Pattern,
        origin: Option<RuleOrigin>,
    ) -> Result<&mut RuleEntry, String> {
        let verdict = rule.verdict;
        let head = pattern.head();
        let all = pattern.is_all();
        self.marks.push(Mark { key, verdict, head, all });
        self.entries.push(RuleEntry::new(rule, pattern, origin));
        self.entries.last_mut().ok_or_else(String::new)
    }

    fn key(&mut self, text: &str) -> Result<usize, String> {
        if let Some(at) = self.keys.iter().position(|key| &*key.text == text) {
            return Ok(at);
        }
        self.keys.push(ToolKey::new(text).map_err(|error| error.to_string())?);
        Ok(self.keys.len() - 1)
    }

    /// Returns the key of exactly this tool.
    fn literal_key(&mut self, tool: &str) -> usize {
        let same = |key: &ToolKey| &*key.text == tool && key.glob.is_none();
        if let Some(at) = self.keys.iter().position(same) {
            return at;
        }
        self.keys.push(ToolKey::literal(tool));
        self.keys.len() - 1
    }
}

// The rules of a set that apply to one tool.

/// Number of keys that have a bit in [`About`].
// A file rarely names more tools. Up to this many, a decision allocates nothing for them.
const BITS: usize = 64;

/// The entries of a set that apply to one tool.
#[derive(Clone, Debug)]
pub(crate) struct About<'r> {
    rules: &'r Rules,
    /// One bit per key: set when the key names the tool. Keys beyond the bits follow in
    /// `more_keys`.
    keys: u64,
    more_keys: Vec<bool>,
    now_ms: i64,
}

impl<'r> About<'r> {
    /// Selects the entries that apply to `tool`, which rules files call `known`.
    pub(crate) fn new(rules: &'r Rules, tool: &str, known: &str, now_ms: i64) -> Self {
        let mut named = rules.keys.iter().map(|key| key.names(tool, known));
        let bits = named.by_ref().take(BITS).enumerate();
        let keys = bits.fold(0, |keys, (at, named)| keys | u64::from(named) << at);
        Self { rules, keys, more_keys: named.collect(), now_ms }
    }

    /// Iterates from the last entry to the first over those that may match a command with this
    /// first word.
    pub(crate) fn backwards(&self, head: Option<Head>) -> impl Iterator<Item = &'r RuleEntry> {
        // The mark comes first: it is small and excludes most entries.
        let fit = move |mark: &Mark| mark.fits(head) && self.names(mark);
        let both = self.rules.marks.iter().zip(&self.rules.entries).rev();
        both.filter(move |(mark, entry)| fit(mark) && entry.lives(self.now_ms))
            .map(|(_, entry)| entry)
    }

    /// Returns true when no rule names the tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys == 0 && !self.more_keys.contains(&true)
    }

    /// Returns true when some rule denies or asks for some calls of the tool, but not for all.
    pub(crate) fn guards(&self) -> bool {
        self.rules
            .marks
            .iter()
            .any(|mark| mark.verdict != Verdict::Allow && !mark.all && self.names(mark))
    }

    /// Returns true when some rule may deny a command with this first word.
    pub(crate) fn may_deny(&self, head: Option<Head>) -> bool {
        self.rules
            .marks
            .iter()
            .any(|mark| mark.verdict == Verdict::Deny && mark.fits(head) && self.names(mark))
    }

    fn names(&self, mark: &Mark) -> bool {
        match mark.key.checked_sub(BITS) {
            None => self.keys >> mark.key & 1 == 1,
            Some(at) => self.more_keys.get(at).copied().unwrap_or(false),
        }
    }
}

// A small summary of each rule, which excludes most rules without reading them.

/// The summary of an entry.
#[derive(Clone, Copy, Debug)]
struct Mark {
    key: usize,
    verdict: Verdict,
    head: Head,
    all: bool,
}

impl Mark {
    fn fits(&self, head: Option<Head>) -> bool {
        head.is_none_or(|head| self.head.fits(head, self.verdict))
    }
}

/// A tool name, or a glob over tool names, as a key of a rules file.
#[derive(Clone, Debug)]
pub(super) struct ToolKey {
    pub(super) text: Box<str>,
    /// The name that rules files use for the tool, when `text` is an alias.
    canonical: Box<str>,
    pub(super) glob: Option<Glob>,
}

impl ToolKey {
    /// Creates a key from a name, or from a glob over names.
    pub(super) fn new(text: &str) -> Result<Self, GlobError> {
        let glob =
            if text.contains(['*', '?', '[', '{', '!']) { Some(Glob::parse(text)?) } else { None };
        Ok(Self { glob, ..Self::literal(text) })
    }

    /// Creates a key for exactly this tool.
    pub(super) fn literal(tool: &str) -> Self {
        Self { text: tool.into(), canonical: canonical(tool).into(), glob: None }
    }

    pub(super) fn names(&self, tool: &str, known: &str) -> bool {
        match &self.glob {
            // `*` needs no automaton.
            Some(_) if &*self.text == "*" => true,
            Some(glob) => glob.matches(tool) || glob.matches(known),
            None => *self.text == *tool || *self.canonical == *known,
        }
    }
}

/// A compiled rule and its position in a file.
#[derive(Clone, Debug)]
pub(crate) struct RuleEntry {
    pub(crate) rule: Rule,
    pub(crate) pattern: Pattern,
    /// The rule as text, with its position: `shell_exec: "git *": allow (permissions.jsonc:12)`.
    pub(crate) label: Box<str>,
    pub(crate) origin: Option<RuleOrigin>,
    /// Milliseconds since 1970 from which on the rule no longer matches.
    pub(super) expires: Option<i64>,
    /// Commands or values that the rule must match or must not match.
    pub(crate) examples: Vec<Example>,
}

/// The position of a rule in its file.
#[derive(Clone, Debug)]
pub(crate) struct RuleOrigin {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl RuleOrigin {
    /// Describes a problem there.
    pub(super) fn problem(&self, message: String, severity: Severity) -> RuleProblem {
        let Self { file, line, column } = self;
        RuleProblem { file: file.to_string(), line: *line, column: *column, message, severity }
    }
}

/// An example beside a rule.
#[derive(Clone, Debug)]
pub struct Example {
    /// A command or another value.
    pub text: String,
    /// True when the rule has to match the text, false when it must not.
    pub matches: bool,
}

impl RuleEntry {
    pub(super) fn new(rule: Rule, pattern: Pattern, origin: Option<RuleOrigin>) -> Self {
        // Formatted once, because the label is part of every decision.
        let Rule { tool, pattern: text, verdict } = &rule;
        let place = origin.as_ref().map(|it| format!("{}:{}", it.file, it.line));
        let place = place.as_deref().unwrap_or("granted");
        let label = format!("{tool}: {text:?}: {verdict} ({place})").into();
        Self { rule, pattern, label, origin, expires: None, examples: Vec::new() }
    }

    /// Returns true when the rule is in force at this time, in milliseconds since 1970.
    fn lives(&self, now_ms: i64) -> bool {
        self.expires.is_none_or(|expires| now_ms < expires)
    }

    /// Returns true when the rule never expires.
    pub(crate) fn lasts(&self) -> bool {
        self.expires.is_none()
    }

    /// Describes a problem of the rule; `None` for a rule that is not from a file.
    pub(crate) fn problem(&self, message: String, severity: Severity) -> Option<RuleProblem> {
        Some(self.origin.as_ref()?.problem(message, severity))
    }
}

impl fmt::Display for RuleEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}
