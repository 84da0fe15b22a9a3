//! The first bytes of a command's name, which exclude most rules.

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
        // The fold starts at 1, so no name packs to 0 and 0 is free for "any command". Eight bytes
        // fill the number and push the 1 out.
        let pack =
            |word: &str| word.bytes().take(8).fold(1, |packed, b| packed << 8 | u64::from(b));
        let (full, base) = (pack(word), base(word));
        Self { full, base: if base.len() == word.len() { full } else { pack(base) } }
    }

    /// Returns the part of a rule's head that decides; 0 for rules that any command fits.
    pub(crate) fn of_rule(self, verdict: Verdict) -> u64 {
        // An allow for `git` must not cover `./git`; a deny for `rm` must cover `/bin/rm`.
        if verdict == Verdict::Allow { self.full } else { self.base }
    }

    /// Returns the decisive parts of all rules that may match a command with this head, each once.
    pub(crate) fn of_rules(self) -> [Option<u64>; 3] {
        // Without a directory both forms are the same, and the rule would be found twice.
        [Some(0), Some(self.full), Some(self.base).filter(|base| *base != self.full)]
    }

    /// Returns false when a rule with this head cannot match a command that starts with `word`.
    pub(crate) fn fits(self, word: Self, verdict: Verdict) -> bool {
        self == Self::ANY
            || if verdict == Verdict::Allow {
                self.full == word.full
            } else {
                self.base == word.base
            }
    }
}
