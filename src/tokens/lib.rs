//! Random ids, secrets that no log shows, and tokens that are proved without being sent: what the
//! daemon and its clients have in common below everything else.

pub mod digest;
pub mod ids;
pub mod proof;
pub mod secret;
