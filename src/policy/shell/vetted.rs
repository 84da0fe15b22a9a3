//! The result of checking a builtin's arguments.

/// Tells whether a builtin's arguments are known to be plain.
pub(super) enum Vetted {
    Plain,
    /// The builtin may evaluate one of them.
    Doubtful,
}
