//! A small memory that forgets its oldest entry.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// At most `cap` entries; the one that was put in first goes first.
pub(crate) struct Recent<K, V> {
    cap: usize,
    order: VecDeque<K>,
    entries: HashMap<K, V>,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub(crate) fn new(cap: usize) -> Self {
        Self { cap, order: VecDeque::new(), entries: HashMap::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.entries.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > self.cap
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_is_forgotten_first() {
        let mut recent = Recent::new(2);
        for (key, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            recent.put(key, value);
        }
        assert_eq!(
            [recent.get(&"a"), recent.get(&"b"), recent.get(&"c")],
            [None, Some(&2), Some(&4)]
        );
    }
}
