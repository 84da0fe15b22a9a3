//! Commands that always want a person, read from argv and not from text.

use std::ops::Range;

use crate::shell::Scan;

/// Why a text is critical, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalFinding {
    /// A short clause: "deletes a home directory recursively".
    pub reason: &'static str,
    /// Bytes of the source.
    pub span: Range<usize>,
}

/// The first critical command of a text, those behind wrappers and in literal scripts included.
#[must_use]
pub fn critical(_scan: &Scan<'_>) -> Option<CriticalFinding> {
    None
}
