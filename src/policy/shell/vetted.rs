//! What looking at a builtin's arguments came to.

/// Whether a builtin's arguments are known to be plain.
pub(super) enum Vetted {
    Plain,
    /// It may evaluate one of them.
    Doubtful,
}
