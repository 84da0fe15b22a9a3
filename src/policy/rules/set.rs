//! A set of rules in its order.

use super::entry::{Entry, Example, Origin};
use super::key::Key;
use super::marks::{Mark, Marks};
use super::pattern::Pattern;
use super::problem::Problem;
use super::rule::Rule;
use super::verdict::Verdict;
use crate::facts::programs::own::{OwnProgram, OwnPrograms};

/// An ordered set of rules; the last one that matches wins.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub(super) keys: Vec<Key>,
    pub(super) entries: Vec<Entry>,
    /// One for each entry.
    pub(super) marks: Marks,
    warnings: Vec<Problem>,
    home: Option<Box<str>>,
    programs: OwnPrograms,
}

impl Rules {
    /// No rules; `home` is what `~/` stands for in those to come.
    pub(super) fn at_home(home: Option<&str>) -> Self {
        Self { home: home.map(Into::into), ..Self::default() }
    }

    /// One entry alone, with a verdict.
    pub(crate) fn of_one(entry: &Entry, verdict: Verdict, home: Option<&str>) -> Option<Self> {
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

    /// What is odd about the file although it can be used.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Rules that were not read from a file (grants). A rule whose pattern cannot be used is
    /// replaced by one that asks about (or denies) every call of its tool.
    #[must_use]
    pub fn from_rules(rules: &[Rule]) -> Self {
        let mut set = Self::default();
        for rule in rules {
            if set.push(rule.clone(), None).is_err() {
                // FAIL-CLOSED: an unusable allow is no rule, an unusable ask or deny holds for all.
                if rule.verdict != Verdict::Allow {
                    let all = Rule { pattern: "*".to_owned(), ..rule.clone() };
                    let _ = set.push(all, None);
                }
            }
        }
        set
    }

    /// Rules that people granted: whatever name a tool has, such a rule is for that tool alone. A
    /// rule whose pattern cannot be used is left out.
    // SECURITY: the names come from agents. None is ever read as a pattern.
    #[must_use]
    pub fn from_grants(grants: &[Rule]) -> Self {
        Self::default().with_grants(grants)
    }

    /// The same rules and these grants behind them.
    #[must_use]
    pub fn with_grants(mut self, grants: &[Rule]) -> Self {
        for rule in grants {
            let key = self.literal_key(&rule.tool);
            // FAIL-CLOSED: an unusable grant is no rule.
            let _ = self.push_under(key, rule.clone(), None);
        }
        self
    }

    /// The programs that the file describes.
    pub(crate) fn programs(&self) -> &OwnPrograms {
        &self.programs
    }

    pub(super) fn push_program(&mut self, program: OwnProgram) {
        self.programs.push(program);
    }

    /// The rules in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.entries.iter().map(|entry| &entry.rule)
    }

    /// True when some rule allows what only reads.
    pub(crate) fn allows_reading(&self) -> bool {
        self.entries.iter().any(|entry| entry.pattern.is_reads())
    }

    /// True when there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The rules in their order without those that have expired, each with its name in words.
    pub fn in_force(&self, now_ms: i64) -> impl Iterator<Item = (&Rule, &str)> {
        let entries = self.entries.iter();
        entries.filter(move |entry| entry.lives(now_ms)).map(|entry| (&entry.rule, &*entry.label))
    }

    /// The examples that stand beside rules, each with its rule and the rule's name in words.
    pub fn examples(&self) -> impl Iterator<Item = (&Rule, &str, &Example)> {
        self.entries.iter().flat_map(|entry| {
            entry.examples.iter().map(|example| (&entry.rule, &*entry.label, example))
        })
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    pub(crate) fn set_warnings(&mut self, warnings: Vec<Problem>) {
        self.warnings = warnings;
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn push(
        &mut self,
        rule: Rule,
        origin: Option<Origin>,
    ) -> Result<&mut Entry, String> {
        let key = self.key(&rule.tool)?;
        self.push_under(key, rule, origin)
    }

    /// A rule for the class of calls that only read.
    pub(crate) fn push_reads(
        &mut self,
        rule: Rule,
        origin: Option<Origin>,
    ) -> Result<&mut Entry, String> {
        let key = self.key(&rule.tool)?;
        let pattern = Pattern::reads().map_err(|error| error.to_string())?;
        self.push_pattern(key, rule, pattern, origin)
    }

    fn push_under(
        &mut self,
        key: usize,
        rule: Rule,
        origin: Option<Origin>,
    ) -> Result<&mut Entry, String> {
        let pattern =
            Pattern::new(&rule.pattern, self.home.as_deref()).map_err(|error| error.to_string())?;
        self.push_pattern(key, rule, pattern, origin)
    }

    fn push_pattern(
        &mut self,
        key: usize,
        rule: Rule,
        pattern: Pattern,
        origin: Option<Origin>,
    ) -> Result<&mut Entry, String> {
        let (verdict, head, all) = (rule.verdict, pattern.head(), pattern.is_all());
        self.marks.push(Mark { key, verdict, head, all });
        self.entries.push(Entry::new(rule, pattern, origin));
        self.entries.last_mut().ok_or_else(String::new)
    }

    fn key(&mut self, text: &str) -> Result<usize, String> {
        if let Some(at) = self.keys.iter().position(|key| &*key.text == text) {
            return Ok(at);
        }
        self.keys.push(Key::new(text).map_err(|error| error.to_string())?);
        Ok(self.keys.len() - 1)
    }

    /// The key of exactly this tool.
    fn literal_key(&mut self, tool: &str) -> usize {
        let same = |key: &Key| &*key.text == tool && key.glob.is_none();
        if let Some(at) = self.keys.iter().position(same) {
            return at;
        }
        self.keys.push(Key::literal(tool));
        self.keys.len() - 1
    }
}
