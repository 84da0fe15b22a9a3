//! molf's decision combined with that of the engine of the profile `standard`; the stricter one
//! counts.

use countersign_policy::decision::{Decision, Layers, Mode};
use countersign_policy::rules::{Rule, Rules};
use countersign_policy::{call::Call, decision, glob::escape, tools::Kind, verdict::Verdict};

use crate::EvaluationContext;
use crate::molf::commands::{self, Piece};
use crate::molf::ruleset::{self, Covers, PermissionSetting, Ruleset, RulesetEntry, or_every_call};
use crate::molf::{Molf, texts};

/// Makes both decisions over the same layers.
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
        let layers = context.layers(rules);
        let both = Both { call, pieces, layers, home: self.home.as_deref() };
        let mut ours = decision::decide_offering_families(call, &layers, Mode::Default);
        let sets = both.sets(&layers);
        let sets: Vec<&Ruleset> = sets.iter().collect();
        let theirs = both.theirs(&sets)?;
        if theirs.verdict > ours.verdict {
            ours.verdict = theirs.verdict;
            ours.reason = "No rule allows it as molf reads it.".to_owned();
            ours.rule = theirs.line.map(|line| line.label.clone());
            ours.deciding_rule = None;
            ours.effects = decision::effects(call, &layers);
        }
        if ours.verdict == Verdict::Deny && ours.rule.is_some() {
            let decided = ours.rule.as_deref().and_then(|name| named(&layers, name));
            // After a veto, only the agent's own rules decided.
            let deciding = if theirs.veto { sets.get(..1).unwrap_or(&sets) } else { &sets };
            ours.reason = texts::denied(call, pieces, deciding, decided)?;
        }
        ours.always = match ours.verdict {
            Verdict::Ask => both.always(&ours)?,
            Verdict::Allow | Verdict::Deny => Vec::new(),
        };
        ours.always_from.clear();
        // molf has no button for exactly this call.
        ours.exact.clear();
        ours.patterns = commands::shown(pieces);
        Ok(ours)
    }
}

/// molf's verdict and the rule behind it.
struct Theirs<'r> {
    verdict: Verdict,
    line: Option<&'r RulesetEntry>,
    /// The verdict is a deny of the agent's own rules.
    veto: bool,
}

impl Both<'_> {
    fn sets(&self, layers: &Layers<'_>) -> Vec<Ruleset> {
        let layers = layers.agent.into_iter().chain([layers.rules, layers.grants]);
        layers.map(|rules| Ruleset::of(rules, self.home, self.layers.now_ms)).collect()
    }

    /// Returns the strictest verdict of the pieces. A deny of the agent's own rules, which come
    /// first, is a veto.
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
            // Of equal verdicts, the rule of the last piece is named.
            if verdict >= strictest.verdict {
                strictest = Theirs { verdict, line, veto: false };
            }
        }
        Ok(strictest)
    }

    /// Returns what Always stores: molf's own patterns, if the engine does not object and the call
    /// passes once they are stored.
    // INVARIANT: with the offered rules granted the same call is allowed, and nothing critical is.
    fn always(&self, ours: &Decision) -> Result<Vec<Rule>, String> {
        let engine = decision::decide_offering_families(self.call, &self.layers, Mode::Default);
        // Where the engine offers nothing, nothing may be stored.
        if ours.critical || engine.verdict == Verdict::Ask && engine.always.is_empty() {
            return Ok(Vec::new());
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
        for rules in candidates {
            if !rules.is_empty() && self.covers(&rules)? {
                return Ok(rules);
            }
        }
        Ok(Vec::new())
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
    fn covers(&self, rules: &[Rule]) -> Result<bool, String> {
        let granted = self.layers.grants.clone().with_grants(rules);
        let layers = Layers { grants: &granted, ..self.layers };
        let sets = self.sets(&layers);
        let theirs = self.theirs(&sets.iter().collect::<Vec<_>>())?;
        Ok(theirs.verdict == Verdict::Allow
            && decision::decide(self.call, &layers, Mode::Default).verdict == Verdict::Allow)
    }
}

/// Returns the rule with this label.
fn named(layers: &Layers<'_>, name: &str) -> Option<PermissionSetting> {
    let sets = layers.agent.into_iter().chain([layers.rules, layers.grants]);
    let mut rules = sets.flat_map(|rules| rules.in_force(layers.now_ms));
    rules.find(|(_, label)| *label == name).map(|(rule, _)| PermissionSetting::from(rule))
}
