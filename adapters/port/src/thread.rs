//! Threads: a place below a target for the cards of one session.

use crate::Target;
use serde::{Deserialize, Serialize};

/// A thread or topic that the core wants to have below a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionThread {
    /// An id of ours, the same at every try: 22 letters, digits, `-` and `_`.
    pub id: String,
    /// Its name, in one line. Agents choose parts of it, so an adapter shows it literally, and cuts
    /// it to what its platform takes.
    pub name: String,
    /// Where it is, once it was made.
    pub place: Option<Target>,
}

impl SessionThread {
    /// The name, cut to so many characters.
    #[must_use]
    pub fn name_within(&self, most: usize) -> String {
        if self.name.chars().count() <= most {
            return self.name.clone();
        }
        self.name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_by_characters_and_says_so() {
        let name = "é".repeat(130);
        let thread = SessionThread { id: String::new(), name: name.clone(), place: None };
        assert_eq!(thread.name_within(130), name);
        assert_eq!(thread.name_within(100), format!("{}…", "é".repeat(99)));
    }
}
