//! The ids of asks for molf's clients.

use countersign_gate::ask::Ask;
use countersign_profiles::molf;
use countersign_tokens::digest::sha256_hex;

/// The id of an ask for molf's clients. It is derived from our id, so that it needs no column.
pub(super) fn approval_id(ask: &Ask) -> String {
    let digest = sha256_hex(ask.id.as_bytes());
    let number = digest.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    molf::approval_id(&ask.body.call.session, number.unwrap_or_default())
}
