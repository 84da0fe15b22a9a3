//! The beginning of a command's name, which tells most rules apart.

use crate::facts::wrappers::base;
use crate::rules::verdict::Verdict;

/// The first bytes of a command's name, with its directory and without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    full: u64,
    base: u64,
}

impl Head {
    pub(super) const ANY: Self = Self { full: 0, base: 0 };

    pub(crate) fn of(word: &str) -> Self {
        let pack =
            |word: &str| word.bytes().take(8).fold(1, |packed, b| packed << 8 | u64::from(b));
        let (full, base) = (pack(word), base(word));
        Self { full, base: if base.len() == word.len() { full } else { pack(base) } }
    }

    /// The part of a rule's head that decides about it; 0 where any command fits.
    pub(crate) fn of_rule(self, verdict: Verdict) -> u64 {
        if verdict == Verdict::Allow { self.full } else { self.base }
    }

    /// The deciding parts of the rules that may be about a command with this head, each once.
    pub(crate) fn of_rules(self) -> [Option<u64>; 3] {
        [Some(0), Some(self.full), Some(self.base).filter(|base| *base != self.full)]
    }

    /// False when a rule with this head cannot be about a command that begins with `word`.
    pub(crate) fn fits(self, word: Self, verdict: Verdict) -> bool {
        self == Self::ANY
            || if verdict == Verdict::Allow {
                self.full == word.full
            } else {
                self.base == word.base
            }
    }
}
