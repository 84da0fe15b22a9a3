//! The latest of what a program told, because a request may name it and not say it again.

use std::collections::VecDeque;

/// How many are remembered.
const MOST: usize = 64;

/// The latest values, by their keys.
#[derive(Debug)]
pub(crate) struct Latest<K, V>(VecDeque<(K, V)>);

impl<K, V> Default for Latest<K, V> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: PartialEq, V> Latest<K, V> {
    /// Takes note of a value, in the place of an earlier one.
    pub(crate) fn note(&mut self, key: K, value: V) {
        self.0.retain(|(known, _)| *known != key);
        self.0.push_back((key, value));
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    pub(crate) fn of(&self, key: &K) -> Option<&V> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}
