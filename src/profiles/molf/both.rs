//! molf's decision, and the same combined with that of the engine of the profile `standard`; the
//! stricter one counts.

use countersign_policy::decision::{Decision, Layers, Mode};
use countersign_policy::rules::{Rule, Rules};
use countersign_policy::{call::Call, decision, glob::escape, tools::Kind, verdict::Verdict};

use crate::molf::commands::{self, Piece};
use crate::molf::ruleset::{self, Covers, Ruleset, RulesetEntry};
use crate::molf::texts;

/// Makes both decisions over the same layers.
pub(super) struct Both<'a> {
    pub(super) call: &'a Call,
    pub(super) pieces: &'a [Piece],
    pub(super) layers: Layers<'a>,
    pub(super) home: Option<&'a str>,
}

/// molf's verdict and the rule behind it.
struct Theirs<'r> {
    verdict: Verdict,
    line: Option<&'r RulesetEntry>,
    /// The layers that decided: after a veto, only the agent's own rules.
    deciding: &'r [Ruleset],
}

impl Both<'_> {
    /// Decides as molf does, with the facts that people want to see.
    pub(super) fn literal(&self) -> Decision {
        let tool = &self.call.tool;
        let sets = self.sets(&self.layers);
        let theirs = self.theirs(tool, Covers::Text, &sets);
        let (reason, always) = match theirs.verdict {
            Verdict::Deny => {
                (texts::denied(self.call, self.pieces, theirs.deciding, None), Vec::new())
            }
            Verdict::Ask => {
                let always = commands::remembered(self.pieces, |piece| Rule::allow(tool, piece));
                ("No rule allows it.".to_owned(), always)
            }
            Verdict::Allow => ("The rules allow it.".to_owned(), Vec::new()),
        };
        let verdict = theirs.verdict;
        let patterns = commands::shown(self.pieces);
        Decision { verdict, reason, always, patterns, ..decision::facts(self.call) }
    }

    /// Makes the stricter of both decisions.
    pub(super) fn strict(&self) -> Decision {
        let mut ours = decision::decide_offering_families(self.call, &self.layers, Mode::Default);
        let sets = self.sets(&self.layers);
        let theirs = self.theirs(self.call.canonical_tool(), Covers::TextOrAlways, &sets);
        if theirs.verdict > ours.verdict {
            ours.verdict = theirs.verdict;
            ours.reason = "No rule allows it as molf reads it.".to_owned();
            ours.rule = theirs.line.map(|line| line.label.clone());
            ours.deciding_rule = None;
            ours.effects = decision::effects(self.call, &self.layers);
        }
        if ours.verdict == Verdict::Deny && ours.rule.is_some() {
            let decided = ours.rule.as_deref().and_then(|label| self.labelled(label));
            ours.reason = texts::denied(self.call, self.pieces, theirs.deciding, decided);
        }
        ours.always = match ours.verdict {
            Verdict::Ask => self.always(&ours),
            Verdict::Allow | Verdict::Deny => Vec::new(),
        };
        ours.always_from.clear();
        // molf has no button for exactly this call.
        ours.exact.clear();
        ours.patterns = commands::shown(self.pieces);
        ours
    }

    /// Returns true when the agent's own rules deny the call: nothing lifts that except molf's
    /// switch.
    pub(super) fn vetoed(&self) -> bool {
        let Some(agent) = self.layers.agent else { return false };
        let none = Rules::default();
        let only = Layers { agent: None, rules: agent, grants: &none, ..self.layers };
        let theirs = [Ruleset::of(agent, self.home, self.layers.now_ms)];
        let tool = self.call.canonical_tool();
        let (theirs, _) = ruleset::evaluate(tool, self.pieces, Covers::Text, &theirs);
        theirs == Verdict::Deny
            || decision::decide(self.call, &only, Mode::Default).verdict == Verdict::Deny
    }

    fn sets(&self, layers: &Layers<'_>) -> Vec<Ruleset> {
        let layers = layers.agent.into_iter().chain([layers.rules, layers.grants]);
        layers.map(|rules| Ruleset::of(rules, self.home, self.layers.now_ms)).collect()
    }

    /// Returns the strictest verdict of the pieces. A deny of the agent's own rules, which come
    /// first, is a veto.
    fn theirs<'r>(&self, tool: &str, covers: Covers, sets: &'r [Ruleset]) -> Theirs<'r> {
        let of = |deciding: &'r [Ruleset]| {
            let (verdict, line) = ruleset::evaluate(tool, self.pieces, covers, deciding);
            Theirs { verdict, line, deciding }
        };
        let alone = self.layers.agent.and(sets.get(..1)).map(of);
        alone.filter(|veto| veto.verdict == Verdict::Deny).unwrap_or_else(|| of(sets))
    }

    /// Returns what Always stores: molf's own patterns, if the engine does not object and the call
    /// passes once they are stored.
    // INVARIANT: with the offered rules granted the same call is allowed, and nothing critical is.
    fn always(&self, ours: &Decision) -> Vec<Rule> {
        let engine = decision::decide_offering_families(self.call, &self.layers, Mode::Default);
        // Where the engine offers nothing, nothing may be stored.
        if ours.critical || engine.verdict == Verdict::Ask && engine.always.is_empty() {
            return Vec::new();
        }
        let molf = self.molf_rules();
        let mut candidates = Vec::new();
        // molf's patterns suffice alone if they include everything that the engine would store.
        if engine.always.iter().filter(|rule| rule.tool == "shell_exec").all(|r| molf.contains(r))
            || matches!(self.call.kind(), Kind::Glob | Kind::Grep)
        {
            candidates.push(molf.clone());
        }
        let mut union = engine.always.clone();
        union.extend(molf.into_iter().filter(|rule| !engine.always.contains(rule)));
        candidates.extend([engine.always, union]);
        let covering = candidates.into_iter().find(|it| !it.is_empty() && self.covers(it));
        covering.unwrap_or_default()
    }

    fn molf_rules(&self) -> Vec<Rule> {
        let tool = self.call.canonical_tool();
        commands::remembered(self.pieces, |always| match self.call.kind() {
            Kind::Shell => Rule::allow(tool, always),
            // Escaped, so that the value matches only itself.
            _ => Rule::allow(tool, escape(always)),
        })
    }

    /// Returns true when both allow the call with these rules granted.
    fn covers(&self, rules: &[Rule]) -> bool {
        let granted = self.layers.grants.clone().with_grants(rules);
        let layers = Layers { grants: &granted, ..self.layers };
        let tool = self.call.canonical_tool();
        let sets = self.sets(&layers);
        self.theirs(tool, Covers::TextOrAlways, &sets).verdict == Verdict::Allow
            && decision::decide(self.call, &layers, Mode::Default).verdict == Verdict::Allow
    }

    /// Returns the rule with this label.
    fn labelled(&self, label: &str) -> Option<&Rule> {
        let Layers { agent, rules, grants, now_ms, .. } = self.layers;
        let sets = agent.into_iter().chain([rules, grants]);
        let mut rules = sets.flat_map(|rules| rules.in_force(now_ms));
        rules.find(|(_, known)| *known == label).map(|(rule, _)| rule)
    }
}
