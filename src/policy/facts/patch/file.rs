//! A file of a patch.

use crate::facts::access::Access;

/// A file that a patch names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchedFile<'t> {
    /// What happens to it.
    pub access: Access,
    /// Its path as the patch spells it.
    pub path: &'t str,
}

/// Returns a path that every program reads alike: no blanks around it, no quotes, nothing
/// invisible.
pub(super) fn plain(path: &str) -> Option<&str> {
    let odd = |c: char| c.is_control() || matches!(c, '"' | '\u{2028}' | '\u{2029}');
    (!path.is_empty() && path.trim() == path && !path.contains(odd)).then_some(path)
}
