//! An ordered set of rules.

use super::entry::{Example, RuleEntry, RuleOrigin};
use super::key::ToolKey;
use super::marks::{Mark, Marks};
use super::pattern::Pattern;
use super::problem::RuleProblem;
use super::rule::Rule;
use super::verdict::Verdict;
use crate::facts::programs::own::{OperatorProgram, OwnPrograms};

/// An ordered set of rules; the last one that matches wins.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(super) keys: Vec<ToolKey>,
    pub(super) entries: Vec<RuleEntry>,
    /// One mark for each entry, at the same index.
    pub(super) marks: Marks,
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
            let key = self.literal_key(&rule.tool);
            // FAIL-CLOSED: an unusable grant is dropped.
            let _ = self.push_under(key, rule.clone(), None);
        }
        self
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
        self.push_under(key, rule, origin)
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

    fn push_under(
        &mut self,
        key: usize,
        rule: Rule,
        origin: Option<RuleOrigin>,
    ) -> Result<&mut RuleEntry, String> {
        let pattern =
            Pattern::new(&rule.pattern, self.home.as_deref()).map_err(|error| error.to_string())?;
        self.push_pattern(key, rule, pattern, origin)
    }

    fn push_pattern(
        &mut self,
        key: usize,
        rule: Rule,
        pattern: Pattern,
        origin: Option<RuleOrigin>,
    ) -> Result<&mut RuleEntry, String> {
        let (verdict, head, all) = (rule.verdict, pattern.head(), pattern.is_all());
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
