//! How much an effect matters.

use super::Effect;

/// How much a part matters, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It always wants a person.
    Critical,
    /// It deletes, publishes, takes rights or reads secrets.
    Grave,
    /// It leaves the workspace or the machine, or nobody can tell what it does.
    Notable,
}

impl Weight {
    /// How much an effect matters; `None` for what everyday commands do.
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

/// Puts the worst effects first and leaves them in their order otherwise: whatever shows only some
/// of them drops no worse one for a milder one.
pub fn worst_first(effects: &mut [Effect]) {
    effects.sort_by_key(|effect| {
        let weight = Weight::of(effect);
        (weight.is_none(), weight)
    });
}
