//! Which countersign this is.

/// The version with the commit and its date, where the build knew them.
pub(super) const VERSION: &str = env!("COUNTERSIGN_VERSION");
