//! Rules: what they say, where they stand, and the one that wins.

mod claude;
pub mod file;
mod lint;
pub(crate) mod pattern;
mod problem;
mod read;
pub mod suggest;
pub mod verdict;
mod when;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::facts::call::canonical;
use crate::glob::Glob;
use crate::rules::verdict::Verdict;
pub use pattern::expand_home;
use pattern::{Head, Pattern};
pub use problem::sentences;
pub use problem::{Problem, Severity};
pub use read::OPTIONS;

/// The rules every installation starts with; the text of `config/permissions.jsonc`.
pub const DEFAULT_RULES: &str = include_str!("../../../config/permissions.jsonc");

/// One rule: calls of `tool` whose value matches `pattern` get `verdict`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The tool's name or a glob over names.
    pub tool: String,
    /// What is matched against the call's values; `*` for every call.
    pub pattern: String,
    /// What the rule says.
    pub verdict: Verdict,
}

impl Rule {
    /// A rule that allows.
    #[must_use]
    pub fn allow(tool: impl Into<String>, pattern: impl Into<String>) -> Self {
        Self { tool: tool.into(), pattern: pattern.into(), verdict: Verdict::Allow }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = if self.tool == "shell_exec" { "shell" } else { &self.tool };
        match self.pattern.as_str() {
            "*" => write!(f, "{tool}: every call"),
            pattern => write!(f, "{tool}: {pattern}"),
        }
    }
}

/// An ordered set of rules; the last one that matches wins.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    keys: Vec<Key>,
    entries: Vec<Entry>,
    /// What decides about most entries without looking at them; one per entry.
    marks: Vec<Mark>,
    /// The deciding part of each mark's head and the mark's place, sorted: a command fits few.
    by_head: Vec<(u64, usize)>,
    /// Where in `marks` the asks and denies are.
    strict: Vec<usize>,
    /// As `by_head`, of the denies alone.
    denies: Vec<(u64, usize)>,
    warnings: Vec<Problem>,
    home: Option<Box<str>>,
}

/// A tool name or glob that rules stand under.
#[derive(Clone, Debug)]
struct Key {
    text: Box<str>,
    /// The name that rules files use for the tool, when `text` is another name of it.
    canonical: Box<str>,
    glob: Option<Glob>,
}

/// The small part of an entry.
#[derive(Clone, Copy, Debug)]
struct Mark {
    key: usize,
    verdict: Verdict,
    head: Head,
    all: bool,
}

/// Keys with a bit in [`About`].
const BITS: usize = 64;

/// The entries of a set that bear on one tool.
#[derive(Clone, Debug)]
pub(crate) struct About<'r> {
    rules: &'r Rules,
    /// Which keys name the tool, a bit each; those that have no bit follow.
    keys: u64,
    more_keys: Vec<bool>,
    now_ms: i64,
}

impl<'r> About<'r> {
    /// From the last to the first, those that a command with this first word may meet.
    pub(crate) fn backwards(&self, head: Option<Head>) -> impl Iterator<Item = &'r Entry> {
        let rules = self.rules;
        let mut places = rules.places(head);
        std::iter::from_fn(move || {
            loop {
                let at = places.next()?;
                let (mark, entry) = (rules.marks.get(at)?, rules.entries.get(at)?);
                let lives = || entry.expires.is_none_or(|expires| self.now_ms < expires);
                if mark.fits(head) && self.names(mark) && lives() {
                    return Some(entry);
                }
            }
        })
    }

    /// No rule names the tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys == 0 && !self.more_keys.contains(&true)
    }

    /// Some rule forbids or asks about some calls of the tool but not all.
    pub(crate) fn guards(&self) -> bool {
        self.strict().any(|mark| !mark.all && self.names(mark))
    }

    /// Some rule may forbid a command with this first word.
    pub(crate) fn may_deny(&self, head: Option<Head>) -> bool {
        let rules = self.rules;
        let names = |&(_, at): &(u64, usize)| rules.marks.get(at).is_some_and(|m| self.names(m));
        match head {
            None => rules.denies.iter().any(names),
            Some(head) => {
                let mut heads = head.of_rules().into_iter().flatten();
                heads.any(|wanted| with_head(&rules.denies, wanted).iter().any(names))
            }
        }
    }

    fn strict(&self) -> impl Iterator<Item = &'r Mark> {
        let rules = self.rules;
        rules.strict.iter().filter_map(|&at| rules.marks.get(at))
    }

    fn names(&self, mark: &Mark) -> bool {
        match mark.key.checked_sub(BITS) {
            None => self.keys >> mark.key & 1 == 1,
            Some(at) => self.more_keys.get(at).copied().unwrap_or(false),
        }
    }
}

impl Mark {
    fn fits(&self, head: Option<Head>) -> bool {
        head.is_none_or(|head| self.head.fits(head, self.verdict))
    }
}

/// One compiled rule and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) rule: Rule,
    pub(crate) pattern: Pattern,
    /// The rule in words, with its place.
    pub(crate) label: Box<str>,
    origin: Option<Origin>,
    /// Milliseconds since 1970 from which the rule no longer matches.
    expires: Option<i64>,
    /// Commands or values that the rule must match, and must not.
    pub(crate) examples: Vec<Example>,
}

/// Where a rule was read.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    pub(crate) file: Arc<str>,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// An example that stands beside a rule.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) text: String,
    pub(crate) matches: bool,
}

impl Rules {
    /// Reads a rules file; `name` is what problems call it, `home` is what `~/` stands for.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place. Nothing of a broken file is used.
    pub fn parse(text: &str, name: &str, home: Option<&str>) -> Result<Self, Vec<Problem>> {
        read::rules(text, name, home)
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
        entries
            .filter(move |entry| entry.expires.is_none_or(|expires| now_ms < expires))
            .map(|entry| (&entry.rule, &*entry.label))
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// The entries that bear on `tool`, which rules files know as `known`.
    pub(crate) fn about(&self, tool: &str, known: &str, now_ms: i64) -> About<'_> {
        let mut named = self.keys.iter().map(|key| key.names(tool, known));
        let bits = named.by_ref().take(BITS).enumerate();
        let keys = bits.fold(0, |keys, (at, named)| keys | u64::from(named) << at);
        About { rules: self, keys, more_keys: named.collect(), now_ms }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn push(&mut self, rule: Rule, origin: Option<Origin>) -> Result<&mut Entry, String> {
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
        if verdict != Verdict::Allow {
            self.strict.push(self.marks.len());
        }
        let place = (head.of_rule(verdict), self.marks.len());
        self.by_head.insert(self.by_head.partition_point(|before| *before < place), place);
        if verdict == Verdict::Deny {
            self.denies.insert(self.denies.partition_point(|before| *before < place), place);
        }
        self.marks.push(Mark { key, verdict, head, all });
        let label = label(&rule, origin.as_ref()).into();
        self.entries.push(Entry {
            rule,
            pattern,
            label,
            origin,
            expires: None,
            examples: Vec::new(),
        });
        self.entries.last_mut().ok_or_else(String::new)
    }

    /// The places of the marks that may fit.
    fn places(&self, head: Option<Head>) -> Places<'_> {
        let list = |wanted| with_head(&self.by_head, wanted);
        match head {
            Some(head) => {
                Places::Of(head.of_rules().map(|wanted| wanted.map(list).unwrap_or_default()))
            }
            None => Places::All(self.marks.len()),
        }
    }

    fn key(&mut self, text: &str) -> Result<usize, String> {
        if let Some(at) = self.keys.iter().position(|key| &*key.text == text) {
            return Ok(at);
        }
        let glob = match text.contains(['*', '?', '[', '{', '!']) {
            true => Some(Glob::parse(text).map_err(|error| error.to_string())?),
            false => None,
        };
        self.keys.push(Key { text: text.into(), canonical: canonical(text).into(), glob });
        Ok(self.keys.len() - 1)
    }

    /// The key of exactly this tool.
    fn literal_key(&mut self, tool: &str) -> usize {
        let same = |key: &Key| &*key.text == tool && key.glob.is_none();
        if let Some(at) = self.keys.iter().position(same) {
            return at;
        }
        self.keys.push(Key { text: tool.into(), canonical: canonical(tool).into(), glob: None });
        self.keys.len() - 1
    }
}

/// The part of a sorted list that has this head.
fn with_head(sorted: &[(u64, usize)], wanted: u64) -> &[(u64, usize)] {
    let start = sorted.partition_point(|(head, _)| *head < wanted);
    let rest = sorted.get(start..).unwrap_or_default();
    let length = rest.iter().take_while(|(head, _)| *head == wanted).count();
    rest.get(..length).unwrap_or_default()
}

/// Places of marks, from the last to the first.
enum Places<'r> {
    /// As many as this.
    All(usize),
    /// Those in the lists, each of which is sorted.
    Of([&'r [(u64, usize)]; 3]),
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        match self {
            Self::All(more) => {
                *more = more.checked_sub(1)?;
                Some(*more)
            }
            Self::Of(lists) => {
                let last = lists.iter_mut().max_by_key(|list| list.last().map(|(_, at)| *at))?;
                let ((_, at), rest) = last.split_last()?;
                *last = rest;
                Some(*at)
            }
        }
    }
}

impl Key {
    fn names(&self, tool: &str, known: &str) -> bool {
        match &self.glob {
            Some(_) if &*self.text == "*" => true,
            Some(glob) => glob.matches(tool) || glob.matches(known),
            None => *self.text == *tool || *self.canonical == *known,
        }
    }
}

impl Entry {
    /// An entry of its own, for judging its examples alone.
    pub(crate) fn alone(&self, verdict: Verdict, home: Option<&str>) -> Option<Rules> {
        let mut rules = Rules { home: home.map(Into::into), ..Rules::default() };
        let rule = Rule { verdict, ..self.rule.clone() };
        if self.pattern.is_reads() {
            rules.push_reads(rule, None).ok()?;
            return Some(rules);
        }
        let entry = rules.push(rule, None).ok()?;
        // The head does not depend on how stars are read.
        entry.pattern = self.pattern.clone();
        Some(rules)
    }

    /// The line and column of the rule, for rules from a file.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }
}

/// `shell_exec: "git *": allow (permissions.jsonc:12)`
fn label(rule: &Rule, origin: Option<&Origin>) -> String {
    let Rule { tool, pattern, verdict } = rule;
    match origin {
        Some(Origin { file, line, .. }) => {
            format!("{tool}: {pattern:?}: {verdict} ({file}:{line})")
        }
        None => format!("{tool}: {pattern:?}: {verdict} (granted)"),
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}
