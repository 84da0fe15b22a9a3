//! Here-documents between their redirect and their body.

use std::borrow::Cow;

/// A here-document whose body has not been met yet.
pub(super) struct Pending<'a> {
    /// The line that ends it.
    pub(super) delimiter: Cow<'a, str>,
    /// A quoted delimiter: the body is taken as it is.
    pub(super) verbatim: bool,
    /// `<<-`: tabs in front of each line do not count.
    pub(super) tabs: bool,
    /// Where the redirect's own word is, to find it again.
    pub(super) at: usize,
}
