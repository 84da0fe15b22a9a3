//! Random names.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::Rng;

/// An ask's public id: short enough to type, no authority in it.
#[must_use]
pub fn ask_id() -> String {
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut rng = rand::rng();
    (0..8)
        .filter_map(|_| LETTERS.get(rng.random_range(0..LETTERS.len())))
        .map(|b| *b as char)
        .collect()
}

/// 128 random bits, 22 characters `[A-Za-z0-9_-]`: a card's nonce.
#[must_use]
pub fn nonce() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

/// 256 random bits, for tokens.
#[must_use]
pub fn token() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}
