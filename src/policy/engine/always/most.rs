//! How many rules one press stores.

/// More rules than this are more than a person reads before pressing Always.
pub(super) const MOST_RULES: usize = 50;
