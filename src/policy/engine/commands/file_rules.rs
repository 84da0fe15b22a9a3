//! The rules for files that a shell text touches.

use std::cell::OnceCell;

use crate::engine::stack::Stack;
use crate::rules::Rules;

/// The rules for files, collected when a redirect first needs them.
pub(super) struct FileRules<'r, 'c> {
    layers: &'c [&'r Rules],
    now_ms: i64,
    reads: OnceCell<Stack<'r>>,
    writes: OnceCell<Stack<'r>>,
}

impl<'r, 'c> FileRules<'r, 'c> {
    pub(super) fn new(layers: &'c [&'r Rules], now_ms: i64) -> Self {
        Self { layers, now_ms, reads: OnceCell::new(), writes: OnceCell::new() }
    }

    pub(super) fn reads(&self) -> &Stack<'r> {
        self.reads.get_or_init(|| self.stack("read_file"))
    }

    pub(super) fn writes(&self) -> &Stack<'r> {
        self.writes.get_or_init(|| self.stack("write_file"))
    }

    pub(super) fn may_deny(&self, reads: bool) -> bool {
        if reads { self.reads() } else { self.writes() }.may_deny(&[])
    }

    fn stack(&self, tool: &str) -> Stack<'r> {
        Stack::new(tool, tool, self.now_ms, self.layers)
    }
}
