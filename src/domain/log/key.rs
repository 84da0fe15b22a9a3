//! The keys of Ed25519 (RFC 8032).

use ring::{
    error::Unspecified,
    hmac,
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use std::{fmt, str::FromStr};

/// A key that signs checkpoints and execution tokens, and authenticates rows.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    /// For another purpose, so it is another key, which comes from the same file.
    rows: hmac::Key,
}

/// The public half of a [`SigningKey`]: 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(String);

/// The text is no public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a public key has 64 hex digits; `countersign log key` prints the daemon's")]
pub struct UnusableKey;

impl SigningKey {
    /// A new key, as PKCS #8.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn generate() -> Result<Vec<u8>, Unspecified> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())?;
        Ok(key.as_ref().to_vec())
    }

    /// Reads a key that [`Self::generate`] made.
    #[must_use]
    pub fn read(pkcs8: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8).ok()?;
        let whole = hmac::Key::new(hmac::HMAC_SHA256, pkcs8);
        let rows = hmac::sign(&whole, b"countersign rows 1");
        Some(Self { pair, rows: hmac::Key::new(hmac::HMAC_SHA256, rows.as_ref()) })
    }

    /// The MAC, in hex.
    pub(crate) fn authenticate(&self, message: &[u8]) -> String {
        hex::encode(hmac::sign(&self.rows, message).as_ref())
    }

    /// Whether this is the MAC of the message.
    pub(crate) fn authenticates(&self, message: &[u8], mac: &str) -> bool {
        unhex(mac).is_some_and(|mac| hmac::verify(&self.rows, message, &mac).is_ok())
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(hex::encode(self.pair.public_key().as_ref()))
    }

    /// The signature, in hex.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> String {
        hex::encode(self.pair.sign(message).as_ref())
    }
}

// SECURITY: a derived Debug could put the key into logs.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}…)", self.public())
    }
}

impl PublicKey {
    /// Whether this signature, in lower-case hex, is this key's on the message.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let (Some(key), Some(signature)) = (unhex(&self.0), unhex(signature)) else { return false };
        UnparsedPublicKey::new(&ED25519, key).verify(message, &signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PublicKey {
    type Err = UnusableKey;

    fn from_str(text: &str) -> Result<Self, UnusableKey> {
        let text = text.trim().to_ascii_lowercase();
        match unhex(&text) {
            Some(bytes) if bytes.len() == 32 => Ok(Self(text)),
            _ => Err(UnusableKey),
        }
    }
}

/// The bytes of lower-case hex digits: a signature has one spelling.
fn unhex(text: &str) -> Option<Vec<u8>> {
    hex::decode(text).ok().filter(|bytes| hex::encode(bytes) == text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_signature_is_of_one_key_and_one_message() {
        let [one, two] =
            [(); 2].map(|()| SigningKey::read(&SigningKey::generate().unwrap()).unwrap());
        let signature = one.sign(b"a");
        assert!(one.public().verifies(b"a", &signature));
        assert!(!one.public().verifies(b"b", &signature));
        assert!(!two.public().verifies(b"a", &signature));
        for wrong in [String::new(), signature.to_uppercase(), format!("{signature}00")] {
            assert!(!one.public().verifies(b"a", &wrong), "{wrong}");
        }
    }

    #[test]
    fn a_public_key_is_read_as_it_is_printed_and_nothing_else_is_one() {
        let key = SigningKey::read(&SigningKey::generate().unwrap()).unwrap().public();
        assert_eq!(key.to_string().parse(), Ok(key.clone()));
        assert_eq!(format!(" {}\n", key.to_string().to_uppercase()).parse(), Ok(key));
        for no in ["", "ab", "zz", &"0".repeat(63), &"0".repeat(66)] {
            assert_eq!(no.parse::<PublicKey>(), Err(UnusableKey), "{no}");
        }
    }

    #[test]
    fn the_key_is_not_in_its_debug_output() {
        let pkcs8 = SigningKey::generate().unwrap();
        let key = SigningKey::read(&pkcs8).unwrap();
        assert_eq!(format!("{key:?}"), format!("SigningKey({}…)", key.public()));
        assert!(SigningKey::read(b"").is_none());
    }
}
