//! Here-documents between the redirect and the body.

use std::borrow::Cow;

/// A here-document whose body is not reached yet.
pub(super) struct Pending<'a> {
    /// The line that ends the body.
    pub(super) delimiter: Cow<'a, str>,
    /// The delimiter is quoted, so the body is literal.
    pub(super) verbatim: bool,
    /// `<<-`: leading tabs of every line are removed.
    pub(super) tabs: bool,
    /// Offset of the redirect's word, to find the redirect again.
    pub(super) at: usize,
}
