//! The tokens that end a list of commands.

/// A set of list ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop(u16);

impl Stop {
    /// The end of the region.
    pub(super) const END: Self = Self(1);
    pub(super) const PAREN: Self = Self(1 << 1);
    pub(super) const BRACE: Self = Self(1 << 2);
    pub(super) const THEN: Self = Self(1 << 3);
    pub(super) const DO: Self = Self(1 << 4);
    pub(super) const DONE: Self = Self(1 << 5);
    pub(super) const ELIF_ELSE_FI: Self = Self(1 << 6);
    pub(super) const FI: Self = Self(1 << 7);
    pub(super) const CLAUSE: Self = Self(1 << 8);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
