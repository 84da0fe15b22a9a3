//! Who wrote a row: a daemon proves each row where it writes it, and seals no row without proof.
//!
//! The proof is a MAC with a key that comes from the signing key: whoever can write to the
//! database, but does not have that key, can neither add a row nor change one before it is sealed. It costs a
//! microsecond, where a signature would cost a write path fifty.

use crate::log::{fields, key::SigningKey};
use std::{fmt, str::FromStr};

/// How many digits of a public key name it.
const NAME: usize = 16;

/// The proof of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowProof {
    /// The first digits of the daemon's public key.
    pub key: String,
    /// The run of the daemon.
    pub run: String,
    /// Which of its rows in this run. So a copy of a row is not another row.
    pub number: i64,
    mac: String,
}

/// What is proven of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProvenRow<'a> {
    /// When, in Unix milliseconds.
    pub at: i64,
    /// What happened.
    pub kind: &'a str,
    /// The id of the ask, if it is about one.
    pub ask: Option<&'a str>,
    /// The particulars, as the JSON text that is stored.
    pub data: &'a str,
}

impl RowProof {
    /// The name under which a key's rows have it.
    #[must_use]
    pub fn name_of(key: &str) -> String {
        key.chars().take(NAME).collect()
    }

    /// Proves a row of this store.
    #[must_use]
    pub fn of(
        key: &SigningKey,
        store: &str,
        (run, number): (&str, i64),
        row: &ProvenRow<'_>,
    ) -> Self {
        let mac = key.authenticate(&proven(store, run, number, row));
        let key = Self::name_of(&key.public().to_string());
        Self { key, run: run.to_owned(), number, mac }
    }

    /// Whether this key proved exactly this row.
    #[must_use]
    pub fn proves(&self, key: &SigningKey, store: &str, row: &ProvenRow<'_>) -> bool {
        key.authenticates(&proven(store, &self.run, self.number, row), &self.mac)
    }
}

fn proven(store: &str, run: &str, number: i64, row: &ProvenRow<'_>) -> Vec<u8> {
    let number = number.to_string();
    let at = row.at.to_string();
    let ask = row.ask.unwrap_or_default();
    fields(&["countersign row 1", store, run, &number, &at, row.kind, ask, row.data])
}

impl fmt::Display for RowProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, run, number, mac } = self;
        write!(f, "{key}.{run}.{number}.{mac}")
    }
}

impl FromStr for RowProof {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts: Vec<&str> = text.split('.').collect();
        let [key, run, number, mac] = parts.as_slice() else { return Err(()) };
        let number = number.parse().map_err(|_| ())?;
        let [key, run, mac] = [key, run, mac].map(|part| (*part).to_owned());
        let proof = Self { key, run, number, mac };
        // Only one spelling, so that a copy has no other name.
        if proof.to_string() == text { Ok(proof) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const ROW: ProvenRow<'_> = ProvenRow { at: 7, kind: "asked", ask: Some("k3f9"), data: "{}" };

    fn key() -> SigningKey {
        SigningKey::read(&SigningKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_proof_is_of_one_row_of_one_key_in_one_store() {
        let key = key();
        let proof = RowProof::of(&key, "ab12cd34", ("run", 3), &ROW);
        let read: RowProof = proof.to_string().parse().unwrap();
        assert_eq!(read, proof);
        assert!(read.proves(&key, "ab12cd34", &ROW));
        assert!(!read.proves(&key, "ab12cd35", &ROW));
        assert!(!read.proves(&self::key(), "ab12cd34", &ROW));
        let others = [
            ProvenRow { at: 8, ..ROW },
            ProvenRow { kind: "answered", ..ROW },
            ProvenRow { ask: None, ..ROW },
            ProvenRow { data: "{ }", ..ROW },
        ];
        for other in others {
            assert!(!read.proves(&key, "ab12cd34", &other), "{other:?}");
        }
        let renumbered = RowProof { number: 4, ..read };
        assert!(!renumbered.proves(&key, "ab12cd34", &ROW));
        for no in ["", "a.b.c.d", "a.b.1", "a.b.01.d", "a.b.1.d.e"] {
            assert_eq!(no.parse::<RowProof>(), Err(()), "{no}");
        }
    }
}
