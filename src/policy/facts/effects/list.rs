//! Collects the effects of a call: each once, the worst kept, the others counted.

use std::collections::{BTreeMap, HashSet};

use super::weight::Weight;
use super::{Effect, PathEffect};
use crate::facts::access::Access;
use crate::facts::paths::{self, Directories};

/// Limit on listed effects; a card has no room for more.
const MOST: usize = 40;

/// The rank of an effect: the worst first, those without weight last.
type Rank = (bool, Option<Weight>);

/// Effects grouped by rank and numbered in order of arrival.
#[derive(Default)]
pub(super) struct List {
    by_weight: BTreeMap<Rank, Vec<(usize, Effect)>>,
    seen: HashSet<Effect>,
    /// The number left out, by kind.
    left_out: BTreeMap<&'static str, usize>,
}

impl List {
    // INVARIANT: an effect is left out only where as many others of at least the same rank are
    // kept.
    pub(super) fn add(&mut self, effect: Effect) {
        let order = self.seen.len();
        if !self.seen.insert(effect.clone()) {
            return;
        }
        let weight = Weight::of(&effect);
        let kept = self.by_weight.entry((weight.is_none(), weight)).or_default();
        if kept.len() < MOST {
            kept.push((order, effect));
        } else {
            *self.left_out.entry(kind(&effect)).or_default() += 1;
        }
    }

    pub(super) fn unknown(&mut self, why: &str) {
        self.add(Effect::Unknown { why: why.to_owned() });
    }

    pub(super) fn touch(&mut self, access: Access, path: &str, dirs: Directories<'_>) {
        let target = PathEffect::new(path, dirs);
        if paths::sink(path) || access == Access::Read && paths::source(path) {
            return;
        }
        self.add(match access {
            // Agents read the workspace all the time; listing it would bury the rest.
            Access::Read if !target.outside && !target.secret => return,
            Access::Read => Effect::Reads(target),
            Access::Write => Effect::Writes(target),
            Access::Delete => Effect::Deletes(target),
            Access::Move => Effect::Moves(target),
            Access::Rights => Effect::Rights(target),
        });
    }

    /// Returns the effects in order of arrival. When there are too many: the worst, followed by the
    /// counts of those left out.
    pub(super) fn finish(mut self) -> Vec<Effect> {
        let mut all: Vec<(usize, Effect)> = self.by_weight.into_values().flatten().collect();
        for (_, effect) in all.split_off(all.len().min(MOST)) {
            *self.left_out.entry(kind(&effect)).or_default() += 1;
        }
        // A complete list keeps its order; a shortened one stays sorted by weight.
        if self.left_out.is_empty() {
            all.sort_by_key(|(order, _)| *order);
        }
        let mut effects: Vec<Effect> = all.into_iter().map(|(_, effect)| effect).collect();
        if !self.left_out.is_empty() {
            let counts: Vec<String> =
                self.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            effects.push(Effect::Unknown { why: format!("not listed: {}", counts.join(", ")) });
        }
        effects
    }
}

/// Returns the words under which effects of this kind are counted.
fn kind(effect: &Effect) -> &'static str {
    match effect {
        Effect::Runs { .. } => "more programs",
        Effect::Reads(_) => "more reads",
        Effect::Writes(_) => "more writes",
        Effect::Deletes(_) => "more deletions",
        Effect::Moves(_) => "more moves",
        Effect::Rights(_) => "more changes of rights",
        Effect::Reaches { .. } => "more hosts",
        Effect::Publishes { .. } => "more publications",
        Effect::Privilege { .. } => "more uses of other rights",
        Effect::Background => "more in the background",
        Effect::Unknown { .. } => "more that cannot be told",
    }
}
