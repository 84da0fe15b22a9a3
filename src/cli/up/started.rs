//! A daemon that `up` started.

/// A daemon that was started.
pub(super) struct Started {
    /// As what it runs.
    pub what: String,
    /// Where its log is.
    pub log: String,
}
