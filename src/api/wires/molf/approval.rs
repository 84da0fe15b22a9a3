//! Asks as molf's clients know them.

use crate::gate::ask::Ask;
use countersign_profiles::molf;
use countersign_tokens::digest::sha256_hex;

/// The id of an ask as molf's clients know it.
pub(super) fn approval_id(ask: &Ask) -> String {
    let digest = sha256_hex(ask.id.as_bytes());
    let number = digest.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    molf::approval_id(&ask.body.call.session, number.unwrap_or_default())
}
