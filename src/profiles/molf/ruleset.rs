//! molf's rules as molf evaluates them: one flat list with picomatch's globs, where the last match
//! wins.

use std::fmt;

use countersign_policy::glob::{Glob, GlobError};
use countersign_policy::rules::{Rule, Rules};
use countersign_policy::{paths::expand_home, verdict::Verdict};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::molf::commands::Piece;

/// Rules in order.
#[derive(Clone, Debug, Default)]
pub struct Ruleset {
    lines: Vec<RulesetEntry>,
}

/// A compiled rule with its label.
#[derive(Clone, Debug)]
pub struct RulesetEntry {
    /// The rule.
    pub setting: PermissionSetting,
    /// The rule as text, with its position if known.
    pub label: String,
    tool: Matcher,
    value: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Glob(Glob),
    /// picomatch throws an error on it.
    Empty,
    /// A glob that we cannot read; it matches only itself.
    Unread(Box<str>, GlobError),
}

impl Ruleset {
    /// Creates a ruleset; `home` replaces a leading `~/` or `$HOME/` of patterns.
    #[must_use]
    pub fn new(settings: impl IntoIterator<Item = PermissionSetting>, home: Option<&str>) -> Self {
        let lines = settings.into_iter().map(|mut setting| {
            setting.pattern = expand(&setting.pattern, home);
            RulesetEntry::new(setting, None)
        });
        Self { lines: lines.collect() }
    }

    /// Creates a ruleset from a file that was read strictly, without expired rules.
    #[must_use]
    pub fn of(rules: &Rules, home: Option<&str>, now_ms: i64) -> Self {
        // An empty pattern matches nothing.
        let rules = rules.in_force(now_ms).filter(|(rule, _)| !rule.pattern.is_empty());
        let lines = rules.map(|(rule, label)| {
            let pattern = expand(&rule.pattern, home);
            RulesetEntry::new(PermissionSetting { pattern, ..rule.into() }, Some(label))
        });
        Self { lines: lines.collect() }
    }

    /// Creates a ruleset from a compact configuration, in the order in which JavaScript lists its
    /// keys.
    #[must_use]
    pub fn from_config(config: &Map<String, Value>, home: Option<&str>) -> Self {
        let mut settings = Vec::new();
        for (permission, value) in listed(config) {
            let mut push = |pattern: &str, action: &Value| {
                let (permission, pattern) = (permission.clone(), pattern.to_owned());
                settings.push(PermissionSetting {
                    permission,
                    pattern,
                    action: RuleAction::of(action),
                });
            };
            match value {
                Value::String(_) => push("*", value),
                Value::Object(patterns) => {
                    listed(patterns)
                        .into_iter()
                        .for_each(|(pattern, action)| push(pattern, action));
                }
                _ => {}
            }
        }
        Self::new(settings, home)
    }

    /// Returns an equivalent compact configuration.
    #[must_use]
    pub fn to_config(&self) -> Map<String, Value> {
        let mut config = Map::new();
        for PermissionSetting { permission, pattern, action } in self.settings() {
            let action = json!(action);
            match config.get_mut(permission) {
                None if pattern == "*" => {
                    config.insert(permission.clone(), action);
                }
                None => {
                    config.insert(permission.clone(), json!({ pattern: action }));
                }
                Some(Value::Object(patterns)) => {
                    patterns.insert(pattern.clone(), action);
                }
                // A simple entry becomes the pattern `*`.
                Some(simple) => {
                    let mut patterns = Map::from_iter([("*".to_owned(), simple.take())]);
                    patterns.insert(pattern.clone(), action);
                    *simple = Value::Object(patterns);
                }
            }
        }
        config
    }

    /// Iterates over the rules in order.
    pub fn settings(&self) -> impl Iterator<Item = &PermissionSetting> {
        self.lines.iter().map(|line| &line.setting)
    }

    /// Returns the rules that match a value, whatever their action.
    ///
    /// # Errors
    /// As [`last`].
    pub fn matching(&self, tool: &str, value: &str) -> Result<Vec<&PermissionSetting>, String> {
        let mut found = Vec::new();
        for line in &self.lines {
            if line.matches(tool, value)? {
                found.push(&line.setting);
            }
        }
        Ok(found)
    }
}

/// Evaluates the layers for a tool and the pieces of its call: the strictest of the pieces, or the
/// action for `*` without any piece.
///
/// # Errors
/// As [`last`].
pub fn evaluate(tool: &str, pieces: &[Piece], layers: &[&Ruleset]) -> Result<RuleAction, String> {
    let pieces = or_every_call(pieces);
    // A single piece keeps an unknown action, which the caller turns into an error.
    if let [one] = &*pieces {
        return Ok(action(last(tool, one, Covers::Text, layers)?));
    }
    let mut worst = Verdict::Allow;
    for piece in pieces.iter() {
        if let RuleAction::Known(verdict) = action(last(tool, piece, Covers::Text, layers)?) {
            worst = worst.max(verdict);
        }
    }
    Ok(RuleAction::Known(worst))
}

/// The condition under which an allow rule covers a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// Its pattern matches the text.
    Text,
    /// The same, or its pattern is the one that Always stores for the piece. Otherwise molf asks
    /// again where a redirect, a substitution or an assignment keeps that pattern from matching.
    TextOrAlways,
}

/// Returns the last rule that matches a piece.
///
/// # Errors
/// A sentence about a pattern on which molf's own evaluation throws an error.
pub fn last<'r>(
    tool: &str,
    piece: &Piece,
    covers: Covers,
    layers: &[&'r Ruleset],
) -> Result<Option<&'r RulesetEntry>, String> {
    for line in layers.iter().rev().flat_map(|layer| layer.lines.iter().rev()) {
        let allows = line.setting.action == RuleAction::Known(Verdict::Allow);
        // `FOO=1 ls` stores `ls *`, which does not match its own text.
        let stored = covers == Covers::TextOrAlways
            && allows
            && line.setting.pattern == piece.always
            && line.tool.is_match(tool)?;
        if stored || line.matches(tool, &piece.text)? {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Returns the pieces, or a single one that stands for every call.
#[must_use]
pub fn or_every_call(pieces: &[Piece]) -> std::borrow::Cow<'_, [Piece]> {
    if pieces.is_empty() {
        let every = Piece { text: "*".to_owned(), always: "*".to_owned() };
        return vec![every].into();
    }
    pieces.into()
}

fn action(line: Option<&RulesetEntry>) -> RuleAction {
    line.map_or(RuleAction::Known(Verdict::Ask), |line| line.setting.action.clone())
}

/// Expands a leading `~`, `~/…`, `$HOME` or `$HOME/…`.
#[must_use]
pub fn expand(pattern: &str, home: Option<&str>) -> String {
    expand_home(pattern, home).into_owned()
}

/// Returns the properties in JavaScript's order: those that look like array indexes first, by
/// number.
fn listed(config: &Map<String, Value>) -> Vec<(&String, &Value)> {
    // Rule order decides, and `{"b": …, "10": …, "2": …}` is 2, 10, b for molf.
    let index = |key: &str| key.parse::<u32>().ok().filter(|n| n.to_string() == key);
    let mut listed: Vec<_> = config.iter().collect();
    listed.sort_by_key(|(key, _)| index(key).map_or((1, 0), |at| (0, at)));
    listed
}

impl RulesetEntry {
    fn new(setting: PermissionSetting, label: Option<&str>) -> Self {
        let label = label.map_or_else(|| setting.to_string(), ToOwned::to_owned);
        let (tool, value) = (Matcher::new(&setting.permission), Matcher::new(&setting.pattern));
        Self { setting, label, tool, value }
    }

    fn matches(&self, tool: &str, value: &str) -> Result<bool, String> {
        Ok(self.tool.is_match(tool)? && self.value.is_match(value)?)
    }
}

impl Matcher {
    fn new(glob: &str) -> Self {
        match Glob::parse(glob) {
            // molf stores an empty glob for `ls &&`, on which every later evaluation throws.
            _ if glob.is_empty() => Self::Empty,
            Ok(glob) => Self::Glob(glob),
            Err(error) => Self::Unread(glob.into(), error),
        }
    }

    fn is_match(&self, value: &str) -> Result<bool, String> {
        match self {
            Self::Glob(glob) => Ok(glob.matches(value)),
            Self::Unread(source, _) if **source == *value => Ok(true),
            Self::Unread(_, error) => Err(error.to_string()),
            Self::Empty => Err("a rule has an empty pattern, which fails every call".to_owned()),
        }
    }
}

/// Calls of `permission` whose pieces match `pattern` get `action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionSetting {
    /// The tool's name or a glob over names.
    pub permission: String,
    /// The pattern for the call's pieces.
    pub pattern: String,
    /// The action.
    pub action: RuleAction,
}

/// The action of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RuleAction {
    /// One of the three words.
    Known(Verdict),
    /// Any other word. molf keeps it, and it is neither a deny nor an ask.
    Odd(String),
}

impl RuleAction {
    /// Returns the verdict.
    // FAIL-CLOSED: an unknown word denies.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Known(verdict) => *verdict,
            Self::Odd(_) => Verdict::Deny,
        }
    }

    /// Reads the action in a file.
    pub(super) fn of(value: &Value) -> Self {
        let word = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        Verdict::from_word(&word).map_or(Self::Odd(word), Self::Known)
    }
}

impl From<&Rule> for PermissionSetting {
    fn from(rule: &Rule) -> Self {
        Self {
            permission: rule.tool.clone(),
            pattern: rule.pattern.clone(),
            action: RuleAction::Known(rule.verdict),
        }
    }
}

impl fmt::Display for PermissionSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: {}", self.permission, self.pattern, self.action)
    }
}

impl fmt::Display for RuleAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(verdict) => verdict.fmt(f),
            Self::Odd(word) => write!(f, "{word:?}"),
        }
    }
}
