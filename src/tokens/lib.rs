//! The clock, random ids, secrets that no log shows, and proofs of tokens: shared by the daemon and
//! its clients, below everything else.

pub mod clock;
pub mod digest;
pub mod ids;
pub mod proof;
pub mod secret;
