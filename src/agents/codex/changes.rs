//! The changes of files that Codex told, because a request to make them does not say which.

use serde_json::Value;
use std::collections::VecDeque;

/// How many are remembered.
const MOST: usize = 64;

/// The latest changes.
#[derive(Debug, Default)]
pub(super) struct FileChanges(VecDeque<ToldChange>);

#[derive(Debug)]
struct ToldChange {
    thread: String,
    item: String,
    changes: Value,
}

impl FileChanges {
    /// Takes note of what an item of a thread changes.
    pub(super) fn note(&mut self, thread: String, item: String, changes: Value) {
        self.0.retain(|told| !told.is_of(&thread, &item));
        self.0.push_back(ToldChange { thread, item, changes });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// What an item changes.
    // SECURITY: items of two threads may have one id.
    pub(super) fn of(&self, thread: &str, item: &str) -> Option<&Value> {
        self.0.iter().find(|told| told.is_of(thread, item)).map(|told| &told.changes)
    }
}

impl ToldChange {
    fn is_of(&self, thread: &str, item: &str) -> bool {
        self.thread == thread && self.item == item
    }
}
