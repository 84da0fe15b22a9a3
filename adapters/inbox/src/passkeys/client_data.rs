//! What the browser says of a ceremony (WebAuthn Level 3, section 5.8.1). Pure.

use crate::session::same;
use serde::Deserialize;
use serde_json::Value;

/// What the browser did for the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CeremonyKind {
    /// It made a passkey.
    Create,
    /// It signed in with one.
    Get,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
    top_origin: Option<Value>,
}

/// Whether the browser did this for our page, and for this very ceremony.
// FAIL-CLOSED: a member that is missing, doubled or of another type fails.
pub(super) fn check(
    bytes: &[u8],
    kind: CeremonyKind,
    (challenge, origin): (&str, &str),
) -> Result<(), &'static str> {
    let said: ClientData =
        serde_json::from_slice(bytes).map_err(|_| "its client data is not whole")?;
    let wanted = match kind {
        CeremonyKind::Create => "webauthn.create",
        CeremonyKind::Get => "webauthn.get",
    };
    if said.kind != wanted {
        return Err("its client data is of another ceremony");
    }
    if !same(challenge, &said.challenge) {
        return Err("it answers another challenge");
    }
    if said.origin != origin {
        return Err("it was made at another origin");
    }
    // SECURITY: our page is in nobody's frame, so a frame of it is somebody else's doing.
    if said.cross_origin || said.top_origin.is_some() {
        return Err("it was made inside another site's page");
    }
    Ok(())
}
