//! Signed checkpoints: how many rows there are, and the hash of the last one.

use crate::log::{
    fields,
    key::{PublicKey, SigningKey},
};
use std::{fmt, str::FromStr};

/// A place in the log: the number of its last row, and that row's hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogHead {
    /// How many rows there are.
    pub count: i64,
    /// The hash of the last one.
    pub hash: String,
}

/// A signed [`LogHead`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// What is signed.
    pub head: LogHead,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// The public key, in hex.
    pub key: String,
    /// The signature, in hex.
    pub signature: String,
}

impl Checkpoint {
    /// Signs the head of this store's log.
    #[must_use]
    pub fn sign(key: &SigningKey, store: &str, head: LogHead, at: i64) -> Self {
        let signature = key.sign(&signed(store, &head, at));
        Self { head, at, key: key.public().to_string(), signature }
    }

    /// The key that signed it; `None` if the key that it names did not make the signature.
    #[must_use]
    pub fn signer(&self, store: &str) -> Option<PublicKey> {
        let key: PublicKey = self.key.parse().ok()?;
        let signs = key.verifies(&signed(store, &self.head, self.at), &self.signature);
        (signs && key.to_string() == self.key).then_some(key)
    }
}

fn signed(store: &str, head: &LogHead, at: i64) -> Vec<u8> {
    let count = head.count.to_string();
    let at = at.to_string();
    fields(&["countersign checkpoint 1", store, &count, &head.hash, &at])
}

impl fmt::Display for LogHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.count, self.hash)
    }
}

impl FromStr for LogHead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let head = text.trim().split_once(':').and_then(|(count, hash)| {
            let hex = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            let count = count.parse().ok().filter(|count| *count >= 0)?;
            hex.then(|| Self { count, hash: hash.to_ascii_lowercase() })
        });
        head.ok_or_else(|| {
            "a head is the number of rows, a colon and 64 hex digits, as `countersign log verify` \
             prints it"
                .to_owned()
        })
    }
}
