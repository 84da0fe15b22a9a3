//! Requests that were answered here and stood in the editor too: its reply comes too late.

use crate::hosted::Forward;
use serde_json::Value;

/// How many are kept.
const MOST: usize = 256;

/// The ids of such requests.
#[derive(Debug, Default)]
pub(super) struct LateReplies(Vec<Value>);

impl LateReplies {
    pub(super) fn expect(&mut self, id: Value) {
        self.0.push(id);
        let many = self.0.len().saturating_sub(MOST);
        self.0.drain(..many);
    }

    /// A late reply stays here, once.
    pub(super) fn forward(&mut self, id: &Value) -> Forward {
        match self.0.iter().position(|late| late == id) {
            Some(at) => {
                self.0.remove(at);
                Forward::Stays
            }
            None => Forward::On,
        }
    }
}
