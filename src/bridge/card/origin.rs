//! Whose card it is.

/// Which card it is, and whose: its buttons' tokens carry both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// Names the card.
    pub nonce: &'a str,
    /// The id of the store that holds it.
    pub store: &'a str,
}
