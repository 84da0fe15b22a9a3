//! The text of a word while it is read.

use std::borrow::Cow;
use std::ops::Range;

/// The text of a word while it is read; borrowed as long as it is one piece of the source.
pub(super) struct Text<'a> {
    source: &'a str,
    piece: Range<usize>,
    owned: String,
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str, at: usize) -> Self {
        Self { source, piece: at..at, owned: String::new() }
    }

    fn slice(&self) -> &'a str {
        self.source.get(self.piece.clone()).unwrap_or_default()
    }

    /// Appends a piece of the source.
    pub(super) fn add(&mut self, piece: Range<usize>) {
        if self.owned.is_empty() {
            if self.piece.is_empty() {
                self.piece = piece;
                return;
            }
            if piece.is_empty() {
                return;
            }
            // Adjacent pieces stay borrowed; only a gap, such as a removed quote, forces a copy.
            if self.piece.end == piece.start {
                self.piece.end = piece.end;
                return;
            }
            self.owned.push_str(self.slice());
        }
        self.owned.push_str(self.source.get(piece).unwrap_or_default());
    }

    /// Appends text that differs from the source.
    pub(super) fn push(&mut self, text: &str) {
        if self.owned.is_empty() {
            self.owned.push_str(self.slice());
            self.piece = 0..0;
        }
        self.owned.push_str(text);
    }

    pub(super) fn finish(self) -> Cow<'a, str> {
        if self.owned.is_empty() { Cow::Borrowed(self.slice()) } else { Cow::Owned(self.owned) }
    }
}
