//! The clock, random ids, files replaced in one step, secrets that no log shows, and proofs of
//! tokens: shared by the daemon and its clients, below everything else.

pub mod clock;
pub mod file;
pub mod ids;
pub mod proof;
pub mod secret;

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
