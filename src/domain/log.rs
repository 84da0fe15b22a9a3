//! The log that proves itself: rows in a chain of hashes, checkpoints signed with Ed25519, and the
//! check of an export. Pure: no files, no clock, no database.
//!
//! `docs/log.md` gives the exact bytes, so that a second implementation agrees.

mod check;
mod checkpoint;
mod export;
mod key;
mod proof;
mod token;

pub use check::{LogCheck, LogProblem, ProvenLog};
pub use checkpoint::{Checkpoint, LogHead};
pub use export::{LogHeader, LogLine};
pub use key::{PublicKey, SigningKey, UnusableKey};
pub use proof::{ProvenRow, RowProof};
pub use token::{ExecutionToken, RefusedToken};

use countersign_tokens::sha256_hex;

/// An event of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    /// Its number: 1, 2, 3 … without a gap.
    pub seq: i64,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// What happened: `asked`, `answered` …
    pub kind: String,
    /// The id of the ask, if it is about one.
    pub ask: Option<String>,
    /// The particulars, as the JSON text that is stored.
    pub data: String,
}

impl LogRow {
    /// The hash before the first row of this store's log.
    // SECURITY: it contains the store's id, so rows of one store do not fit into another's log.
    #[must_use]
    pub fn origin(store: &str) -> String {
        sha256_hex(&fields(&["countersign log 1", store]))
    }

    /// The row's hash, which covers the hash of the row before it.
    // INVARIANT: it covers every field, so no change of a row leaves the chain as it was.
    #[must_use]
    pub fn hash(&self, before: &str) -> String {
        let seq = self.seq.to_string();
        let at = self.at.to_string();
        let ask = self.ask.as_deref().unwrap_or_default();
        sha256_hex(&fields(&[before, &seq, &at, &self.kind, ask, &self.data]))
    }
}
/// The fields as netstrings: length, colon, bytes, comma. No field can run into the next one.
fn fields(fields: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend_from_slice(field.len().to_string().as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(field.as_bytes());
        bytes.push(b',');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> LogRow {
        let kind = "asked".to_owned();
        let data = "{\"tool\":\"Bash\"}".to_owned();
        LogRow { seq: 1, at: 1_700_000_000_000, kind, ask: Some("k3f9".to_owned()), data }
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let origin = LogRow::origin("ab12cd34");
        assert_eq!(origin, sha256_hex(b"17:countersign log 1,8:ab12cd34,"));
        let bytes =
            format!("64:{origin},1:1,13:1700000000000,5:asked,4:k3f9,15:{{\"tool\":\"Bash\"}},");
        assert_eq!(row().hash(&origin), sha256_hex(bytes.as_bytes()));
    }

    #[test]
    fn every_field_changes_the_hash() {
        let changed = [
            LogRow { seq: 2, ..row() },
            LogRow { at: 2, ..row() },
            LogRow { kind: "answered".to_owned(), ..row() },
            LogRow { ask: None, ..row() },
            LogRow { data: "{}".to_owned(), ..row() },
        ];
        for other in changed {
            assert_ne!(other.hash("x"), row().hash("x"), "{other:?}");
        }
        assert_ne!(row().hash("x"), row().hash("y"));
    }

    #[test]
    fn no_two_lists_of_fields_have_the_same_bytes() {
        assert_eq!(fields(&["a", "", "ü,"]), "1:a,0:,3:ü,,".as_bytes());
        assert_ne!(fields(&["a", "b"]), fields(&["ab", ""]));
    }
}
