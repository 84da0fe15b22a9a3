//! Reasons that several programs have in common.

pub(crate) const FETCHED: &str = "runs what it fetches or decodes";
pub(crate) const LEAKS: &str = "sends secrets or private files to another host";
pub(crate) const REMOTE: &str = "gives another host a shell here";
