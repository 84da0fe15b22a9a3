//! The rules of a set that bear on one tool.

use super::entry::Entry;
use super::marks::Mark;
use super::pattern::Head;
use super::set::Rules;

/// Keys with a bit in [`About`].
const BITS: usize = 64;

/// The entries of a set that bear on one tool.
#[derive(Clone, Debug)]
pub(crate) struct About<'r> {
    rules: &'r Rules,
    /// Which keys name the tool, a bit each; those that have no bit follow.
    keys: u64,
    more_keys: Vec<bool>,
    now_ms: i64,
}

impl<'r> About<'r> {
    /// The entries that bear on `tool`, which rules files know as `known`.
    pub(crate) fn new(rules: &'r Rules, tool: &str, known: &str, now_ms: i64) -> Self {
        let mut named = rules.keys.iter().map(|key| key.names(tool, known));
        let bits = named.by_ref().take(BITS).enumerate();
        let keys = bits.fold(0, |keys, (at, named)| keys | u64::from(named) << at);
        Self { rules, keys, more_keys: named.collect(), now_ms }
    }

    /// From the last to the first, those that a command with this first word may meet.
    pub(crate) fn backwards(&self, head: Option<Head>) -> impl Iterator<Item = &'r Entry> {
        let rules = self.rules;
        let mut indexes = rules.marks.backwards(head);
        std::iter::from_fn(move || {
            loop {
                let at = indexes.next()?;
                let (mark, entry) = (rules.marks.get(at)?, rules.entries.get(at)?);
                if mark.fits(head) && self.names(mark) && entry.lives(self.now_ms) {
                    return Some(entry);
                }
            }
        })
    }

    /// No rule names the tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys == 0 && !self.more_keys.contains(&true)
    }

    /// Some rule forbids or asks about some calls of the tool but not all.
    pub(crate) fn guards(&self) -> bool {
        self.rules.marks.strict().any(|mark| !mark.all && self.names(mark))
    }

    /// Some rule may forbid a command with this first word.
    pub(crate) fn may_deny(&self, head: Option<Head>) -> bool {
        self.rules.marks.any_deny(head, |mark| self.names(mark))
    }

    fn names(&self, mark: &Mark) -> bool {
        match mark.key.checked_sub(BITS) {
            None => self.keys >> mark.key & 1 == 1,
            Some(at) => self.more_keys.get(at).copied().unwrap_or(false),
        }
    }
}
