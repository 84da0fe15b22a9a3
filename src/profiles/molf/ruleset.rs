//! molf's rules as molf evaluates them: one flat list with picomatch's globs, where the last match
//! wins.

use countersign_policy::glob::Glob;
use countersign_policy::rules::{Rule, Rules};
use countersign_policy::{paths::expand_home, verdict::Verdict};

use crate::molf::commands::Piece;

/// Rules in order.
#[derive(Clone, Debug, Default)]
pub struct Ruleset {
    lines: Vec<RulesetEntry>,
}

/// A compiled rule with its label.
#[derive(Clone, Debug)]
pub struct RulesetEntry {
    /// The rule; its pattern begins with the home directory where it was written with `~`.
    pub rule: Rule,
    /// The rule as text, with its position if known.
    pub label: String,
    tool: Option<Glob>,
    value: Option<Glob>,
}

impl Ruleset {
    /// Creates a ruleset without expired rules; `home` replaces a leading `~/` or `$HOME/` of
    /// patterns.
    #[must_use]
    pub fn of(rules: &Rules, home: Option<&str>, now_ms: i64) -> Self {
        // An empty pattern matches nothing. molf stores one for `ls &&`, on which every later
        // evaluation throws.
        let rules = rules.in_force(now_ms).filter(|(rule, _)| !rule.pattern.is_empty());
        let lines = rules.map(|(rule, label)| {
            let pattern = expand_home(&rule.pattern, home).into_owned();
            RulesetEntry {
                label: label.to_owned(),
                tool: Glob::parse(&rule.tool).ok(),
                value: Glob::parse(&pattern).ok(),
                rule: Rule { pattern, ..rule.clone() },
            }
        });
        Self { lines: lines.collect() }
    }

    /// Iterates over the rules in order.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.lines.iter().map(|line| &line.rule)
    }

    /// Iterates over the rules that match a value, whatever their verdict.
    pub fn matching(&self, tool: &str, value: &str) -> impl Iterator<Item = &Rule> {
        let matching = self.lines.iter().filter(move |line| line.matches(tool, value));
        matching.map(|line| &line.rule)
    }
}

/// Returns the strictest verdict of the pieces of a call, or that of the value `*` for a call
/// without any, with the rule behind it. Of equal verdicts, the rule of the last piece is named.
pub fn evaluate<'r>(
    tool: &str,
    pieces: &[Piece],
    covers: Covers,
    layers: &'r [Ruleset],
) -> (Verdict, Option<&'r RulesetEntry>) {
    let mut strictest = (Verdict::Allow, None);
    for piece in or_every_call(pieces).iter() {
        let mut lines = layers.iter().rev().flat_map(|layer| layer.lines.iter().rev());
        let line = lines.find(|line| line.decides(tool, piece, covers));
        let verdict = line.map_or(Verdict::Ask, |line| line.rule.verdict);
        if verdict >= strictest.0 {
            strictest = (verdict, line);
        }
    }
    strictest
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

/// Returns the pieces, or a single one that stands for every call.
#[must_use]
pub fn or_every_call(pieces: &[Piece]) -> std::borrow::Cow<'_, [Piece]> {
    if pieces.is_empty() {
        let every = Piece { text: "*".to_owned(), always: "*".to_owned() };
        return vec![every].into();
    }
    pieces.into()
}

impl RulesetEntry {
    fn decides(&self, tool: &str, piece: &Piece, covers: Covers) -> bool {
        // `FOO=1 ls` stores `ls *`, which does not match its own text.
        let stored = covers == Covers::TextOrAlways
            && self.rule.verdict == Verdict::Allow
            && self.rule.pattern == piece.always;
        self.names(tool)
            && (stored || self.fits(self.value.as_ref(), &self.rule.pattern, &piece.text))
    }

    fn matches(&self, tool: &str, value: &str) -> bool {
        self.names(tool) && self.fits(self.value.as_ref(), &self.rule.pattern, value)
    }

    fn names(&self, tool: &str) -> bool {
        self.fits(self.tool.as_ref(), &self.rule.tool, tool)
    }

    // FAIL-CLOSED: a glob that cannot be read matches everything; where its rule allows, only
    // itself.
    fn fits(&self, glob: Option<&Glob>, written: &str, text: &str) -> bool {
        match glob {
            Some(glob) => glob.matches(text),
            None => written == text || self.rule.verdict != Verdict::Allow,
        }
    }
}
