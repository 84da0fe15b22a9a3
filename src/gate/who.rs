//! Somebody who wants to answer.

/// Somebody who wants to answer, as their surface vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The platform's name; `inbox` or `api` (the approver's token) at this machine.
    pub platform: &'static str,
    /// Lasting id there.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// Role ids at the moment of the press.
    pub roles: Vec<String>,
}
