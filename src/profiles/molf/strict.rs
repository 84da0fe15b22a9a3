//! molf's decision with the engine of the profile `standard` over it; the stricter one holds.

use super::commands::Piece;
use super::ruleset::{self, Covers, Ruleset, RulesetEntry, Setting, or_every_call};
use super::{Molf, words};
use crate::EvaluationContext;
use countersign_policy::call::Call;
use countersign_policy::decision::{self, Decision, Layers, Mode};
use countersign_policy::glob::escape;
use countersign_policy::rules::{Rule, Rules};
use countersign_policy::tools::Kind;
use countersign_policy::verdict::Verdict;

/// Both decisions over the same layers.
struct Both<'a> {
    call: &'a Call,
    pieces: &'a [Piece],
    layers: Layers<'a>,
    home: Option<&'a str>,
}

impl Molf {
    pub(super) fn strict(
        &self,
        rules: &Rules,
        call: &Call,
        pieces: &[Piece],
        context: &EvaluationContext<'_>,
    ) -> Result<Decision, String> {
        let layers = Layers {
            agent: context.agent_rules,
            rules,
            grants: &context.grants.rules,
            guardrail: context.guardrail,
            now_ms: context.now_ms,
        };
        let both = Both { call, pieces, layers, home: self.home.as_deref() };
        let mut ours = decision::decide(call, &layers, Mode::Default);
        let sets = both.sets(&layers);
        let sets: Vec<&Ruleset> = sets.iter().collect();
        let theirs = both.theirs(&sets)?;
        if theirs.verdict > ours.verdict {
            ours.verdict = theirs.verdict;
            ours.reason = "No rule allows it as molf reads it.".to_owned();
            ours.rule = theirs.line.map(|line| line.label.clone());
            ours.effects = decision::effects(call, &layers);
        }
        if ours.verdict == Verdict::Deny && ours.rule.is_some() {
            let decided = ours.rule.as_deref().and_then(|name| named(&layers, name));
            let deciding = if theirs.veto { sets.get(..1).unwrap_or(&sets) } else { &sets };
            ours.reason = words::denied(call, pieces, deciding, decided)?;
        }
        ours.always = match ours.verdict {
            Verdict::Ask => both.always(&ours)?,
            Verdict::Allow | Verdict::Deny => Vec::new(),
        };
        ours.exact.clear();
        ours.patterns = pieces.iter().map(|piece| piece.text.clone()).collect();
        Ok(ours)
    }
}

/// molf's verdict and the rule behind it.
struct Theirs<'r> {
    verdict: Verdict,
    line: Option<&'r RulesetEntry>,
    /// A deny of the agent's own rules.
    veto: bool,
}

impl Both<'_> {
    fn sets(&self, layers: &Layers<'_>) -> Vec<Ruleset> {
        let layers = layers.agent.into_iter().chain([layers.rules, layers.grants]);
        layers.map(|rules| Ruleset::of(rules, self.home, self.layers.now_ms)).collect()
    }

    /// The strictest of the pieces; a deny of the agent's own rules, which come first, is a veto.
    fn theirs<'r>(&self, sets: &[&'r Ruleset]) -> Result<Theirs<'r>, String> {
        let alone = self.layers.agent.and(sets.first()).map(|agent| self.strictest(&[agent]));
        match alone.transpose()? {
            Some(veto) if veto.verdict == Verdict::Deny => Ok(Theirs { veto: true, ..veto }),
            _ => self.strictest(sets),
        }
    }

    fn strictest<'r>(&self, sets: &[&'r Ruleset]) -> Result<Theirs<'r>, String> {
        let tool = self.call.canonical_tool();
        let mut strictest = Theirs { verdict: Verdict::Allow, line: None, veto: false };
        for piece in or_every_call(self.pieces).iter() {
            let line = ruleset::last(tool, piece, Covers::TextOrAlways, sets)?;
            let verdict = line.map_or(Verdict::Ask, |line| line.setting.action.verdict());
            if verdict >= strictest.verdict {
                strictest = Theirs { verdict, line, veto: false };
            }
        }
        Ok(strictest)
    }

    /// What Always stores: molf's own patterns where the engine has nothing against them and the
    /// call passes once they are stored.
    // INVARIANT: with the offered rules granted the same call is allowed, and nothing critical is.
    fn always(&self, ours: &Decision) -> Result<Vec<Rule>, String> {
        let engine = decision::decide(self.call, &self.layers, Mode::Default);
        if ours.critical || engine.verdict == Verdict::Ask && engine.always.is_empty() {
            return Ok(Vec::new());
        }
        let molf = self.molf_rules();
        let mut candidates = Vec::new();
        if engine.always.iter().filter(|rule| rule.tool == "shell_exec").all(|r| molf.contains(r))
            || matches!(self.call.kind(), Kind::Glob | Kind::Grep)
        {
            candidates.push(molf.clone());
        }
        let mut union = engine.always.clone();
        union.extend(molf.into_iter().filter(|rule| !engine.always.contains(rule)));
        candidates.extend([engine.always, union]);
        for rules in candidates {
            if !rules.is_empty() && self.covers(&rules)? {
                return Ok(rules);
            }
        }
        Ok(Vec::new())
    }

    fn molf_rules(&self) -> Vec<Rule> {
        let tool = self.call.canonical_tool();
        let mut rules: Vec<Rule> = Vec::new();
        for piece in self.pieces {
            let rule = match self.call.kind() {
                Kind::Shell => Rule::allow(tool, &*piece.always),
                // The value and nothing else, whatever characters it has.
                _ => Rule::allow(tool, escape(&piece.always)),
            };
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules
    }

    /// Both allow the call once these rules are granted.
    fn covers(&self, rules: &[Rule]) -> Result<bool, String> {
        let granted = self.layers.grants.clone().with_grants(rules);
        let layers = Layers { grants: &granted, ..self.layers };
        let sets = self.sets(&layers);
        let theirs = self.theirs(&sets.iter().collect::<Vec<_>>())?;
        Ok(theirs.verdict == Verdict::Allow
            && decision::decide(self.call, &layers, Mode::Default).verdict == Verdict::Allow)
    }
}

/// The rule that goes by this name.
fn named(layers: &Layers<'_>, name: &str) -> Option<Setting> {
    let sets = layers.agent.into_iter().chain([layers.rules, layers.grants]);
    let mut rules = sets.flat_map(|rules| rules.in_force(layers.now_ms));
    rules.find(|(_, label)| *label == name).map(|(rule, _)| Setting::from(rule))
}
