//! The weight of an effect.

use super::Effect;

/// The weight of an effect or a part, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Always needs a person.
    Critical,
    /// Deletes, publishes, changes the user or reads secrets.
    Grave,
    /// Leaves the workspace or the machine, or cannot be determined.
    Notable,
}

impl Weight {
    /// Returns the weight of an effect; `None` for what everyday commands do.
    #[must_use]
    pub fn of(effect: &Effect) -> Option<Self> {
        match effect {
            Effect::Deletes(_) | Effect::Publishes { .. } | Effect::Privilege { .. } => {
                Some(Self::Grave)
            }
            Effect::Reads(it) | Effect::Writes(it) | Effect::Moves(it) if it.secret => {
                Some(Self::Grave)
            }
            Effect::Writes(it) | Effect::Moves(it) if it.outside => Some(Self::Notable),
            Effect::Rights(_)
            | Effect::Reads(_)
            | Effect::Reaches { .. }
            | Effect::Unknown { .. } => Some(Self::Notable),
            _ => None,
        }
    }
}

/// Sorts the worst effects first and keeps their order otherwise, so that a shortened list never
/// drops a worse effect for a milder one.
pub fn worst_first(effects: &mut [Effect]) {
    effects.sort_by_key(|effect| {
        let weight = Weight::of(effect);
        (weight.is_none(), weight)
    });
}
