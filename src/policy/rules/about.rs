//! The rules of a set that apply to one tool.

use super::entry::RuleEntry;
use super::marks::Mark;
use super::pattern::Head;
use super::set::Rules;

/// Number of keys that have a bit in [`About`].
// A file rarely names more tools. Up to this many, a decision allocates nothing for them.
const BITS: usize = 64;

/// The entries of a set that apply to one tool.
#[derive(Clone, Debug)]
pub(crate) struct About<'r> {
    rules: &'r Rules,
    /// One bit per key: set when the key names the tool. Keys beyond the bits follow in
    /// `more_keys`.
    keys: u64,
    more_keys: Vec<bool>,
    now_ms: i64,
}

impl<'r> About<'r> {
    /// Selects the entries that apply to `tool`, which rules files call `known`.
    pub(crate) fn new(rules: &'r Rules, tool: &str, known: &str, now_ms: i64) -> Self {
        let mut named = rules.keys.iter().map(|key| key.names(tool, known));
        let bits = named.by_ref().take(BITS).enumerate();
        let keys = bits.fold(0, |keys, (at, named)| keys | u64::from(named) << at);
        Self { rules, keys, more_keys: named.collect(), now_ms }
    }

    /// Iterates from the last entry to the first over those that may match a command with this
    /// first word.
    pub(crate) fn backwards(&self, head: Option<Head>) -> impl Iterator<Item = &'r RuleEntry> {
        let rules = self.rules;
        let mut indexes = rules.marks.backwards(head);
        std::iter::from_fn(move || {
            loop {
                let at = indexes.next()?;
                let (mark, entry) = (rules.marks.get(at)?, rules.entries.get(at)?);
                // The mark comes first: it is small and excludes most entries.
                if mark.fits(head) && self.names(mark) && entry.lives(self.now_ms) {
                    return Some(entry);
                }
            }
        })
    }

    /// Returns true when no rule names the tool.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys == 0 && !self.more_keys.contains(&true)
    }

    /// Returns true when some rule denies or asks for some calls of the tool, but not for all.
    pub(crate) fn guards(&self) -> bool {
        self.rules.marks.strict().any(|mark| !mark.all && self.names(mark))
    }

    /// Returns true when some rule may deny a command with this first word.
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
