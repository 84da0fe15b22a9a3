//! Random ids.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use rand::Rng;

/// An ask's public id: short enough to type; it carries no authority.
#[must_use]
pub fn ask_id() -> String {
    // Without `i`, `l`, `o` and `u`, which people misread; 32 letters, so 8 of them are 40 bits.
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut rng = rand::rng();
    (0..8)
        .filter_map(|_| LETTERS.get(rng.random_range(0..LETTERS.len())))
        .map(|b| *b as char)
        .collect()
}

/// A card's nonce: 128 random bits, 22 characters `[A-Za-z0-9_-]`.
#[must_use]
pub fn nonce() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

/// A code in a link: 128 random bits, 32 digits `[0-9a-f]`, none of which a chat reads as markup.
#[must_use]
pub fn code() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// A token: 256 random bits.
#[must_use]
pub fn token() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}
