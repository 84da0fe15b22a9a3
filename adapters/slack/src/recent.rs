//! What has come in already.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

/// More than this are not remembered; Slack repeats within minutes.
const REMEMBERED: usize = 4096;

/// The last things that came in, by Slack's id for each.
#[derive(Debug, Default)]
pub(crate) struct SeenIds(Mutex<(HashSet<String>, VecDeque<String>)>);

impl SeenIds {
    /// Whether this comes for the first time; from now on it does not.
    pub(crate) fn is_new(&self, id: &str) -> bool {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *recent;
        if !known.insert(id.to_owned()) {
            return false;
        }
        order.push_back(id.to_owned());
        if order.len() > REMEMBERED
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_is_new_once_and_what_is_remembered_is_bounded() {
        let recent = SeenIds::default();
        assert!(recent.is_new("a") && !recent.is_new("a") && recent.is_new("b"));
        for n in 0..REMEMBERED {
            assert!(recent.is_new(&n.to_string()));
        }
        assert!(recent.is_new("a"), "forgotten by now");
        let (known, order) = &*recent.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!((known.len(), order.len()), (REMEMBERED, REMEMBERED));
    }
}
