//! The log that proves itself: rows in a chain of hashes, checkpoints signed with Ed25519, and the
//! check of an export. Pure: no files, no clock, no database.
//!
//! `docs/log.md` gives the exact bytes, so that a second implementation agrees.

mod check;
mod checkpoint;
mod export;
mod fields;
mod key;
mod proof;
mod row;
mod token;

pub use check::{LogCheck, LogProblem, ProvenLog};
pub use checkpoint::{Checkpoint, LogHead};
pub use export::{LogHeader, LogLine};
pub use key::{PublicKey, SigningKey, UnusableKey};
pub use proof::{ProvenRow, RowProof};
pub use row::LogRow;
pub use token::{ExecutionToken, RefusedToken};
