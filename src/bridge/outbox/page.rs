//! How many cards are read at a time.

/// How many due cards are read at once.
pub(super) const PAGE: u32 = 100;
