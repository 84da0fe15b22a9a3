//! The checks of a relying party without attestation (WebAuthn Level 3, sections 7.1 and 7.2).
//! Pure.

use crate::inbox::{PublicUrl, session::same};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_store::StoredPasskey;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Why something is refused; for the log.
pub(super) type PasskeyRefusal = &'static str;

/// What the browser brings of a new passkey, in base64url.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BroughtPasskey {
    /// The credential's id.
    pub(super) id: String,
    #[serde(rename = "clientDataJSON")]
    pub(super) client_data: String,
    pub(super) authenticator_data: String,
    pub(super) public_key: String,
    pub(super) algorithm: i64,
}

/// What the browser brings of somebody who signs in, in base64url.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BroughtAssertion {
    /// The credential's id.
    pub(super) id: String,
    #[serde(rename = "clientDataJSON")]
    pub(super) client_data: String,
    pub(super) authenticator_data: String,
    pub(super) signature: String,
    /// By which the authenticator knows the person. Credentials that sign in alone have it.
    pub(super) user_handle: Option<String>,
}

/// What is kept of a new passkey that passed every check.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CheckedPasskey {
    pub(super) counter: u32,
    pub(super) backup_eligible: bool,
}

/// Checks a new passkey (section 7.1). That nobody has it already is for the store to say.
pub(super) fn registration(
    party: &PublicUrl,
    challenge: &str,
    brought: &BroughtPasskey,
) -> Result<CheckedPasskey, PasskeyRefusal> {
    let said = decode(&brought.client_data)?;
    check_client_data(&said, "webauthn.create", (challenge, &party.origin))?;
    let data = decode(&brought.authenticator_data)?;
    let data = checked(party, &data)?;
    let id = data.credential.ok_or("it brings no new credential")?;
    if decode(&brought.id)? != id {
        return Err("its credential has another id");
    }
    if !is_key(brought.algorithm, &decode(&brought.public_key)?) {
        return Err("its key is of no algorithm that was offered");
    }
    Ok(CheckedPasskey { counter: data.counter, backup_eligible: data.has(BACKUP_ELIGIBLE) })
}

/// Checks that somebody signs in with this passkey (section 7.2); returns its counter, which the
/// store compares.
pub(super) fn assertion(
    party: &PublicUrl,
    challenge: &str,
    passkey: &StoredPasskey,
    brought: &BroughtAssertion,
) -> Result<u32, PasskeyRefusal> {
    if passkey.credential != brought.id || passkey.host != party.host {
        return Err("it is of another credential");
    }
    // Without a name, only this says whom the authenticator means.
    if brought.user_handle.as_deref() != Some(&*passkey.handle) {
        return Err("its user handle is not that of its person");
    }
    let said = decode(&brought.client_data)?;
    check_client_data(&said, "webauthn.get", (challenge, &party.origin))?;
    let bytes = decode(&brought.authenticator_data)?;
    let data = checked(party, &bytes)?;
    if data.credential.is_some() {
        return Err("it brings a new credential");
    }
    if data.has(BACKUP_ELIGIBLE) != passkey.backup_eligible {
        return Err("its backup eligibility has changed");
    }
    let signed = [&*bytes, &*Sha256::digest(&said)].concat();
    let key = decode(&passkey.public_key)?;
    let signature = decode(&brought.signature)?;
    is_signed(passkey.algorithm, &key, &signed, &signature).ok_or("its signature is wrong")?;
    Ok(data.counter)
}

/// The authenticator's data, with what both ceremonies ask of it.
fn checked<'a>(
    party: &PublicUrl,
    bytes: &'a [u8],
) -> Result<AuthenticatorData<'a>, PasskeyRefusal> {
    let data = AuthenticatorData::read(bytes).ok_or("its authenticator data is not whole")?;
    if data.host_hash[..] != Sha256::digest(&party.host)[..] {
        return Err("it is for another host");
    }
    if !data.has(PRESENT) {
        return Err("nobody was present");
    }
    if !data.has(VERIFIED) {
        return Err("its authenticator did not verify the person");
    }
    if data.has(BACKED_UP) && !data.has(BACKUP_ELIGIBLE) {
        return Err("it is backed up and may not be");
    }
    Ok(data)
}

fn decode(text: &str) -> Result<Vec<u8>, PasskeyRefusal> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| "it is not written in base64url")
}

// What the browser says of a ceremony (WebAuthn Level 3, section 5.8.1). Pure.

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
pub(super) fn check_client_data(
    bytes: &[u8],
    kind: &str,
    (challenge, origin): (&str, &str),
) -> Result<(), &'static str> {
    let said: ClientData =
        serde_json::from_slice(bytes).map_err(|_| "its client data is not whole")?;
    if said.kind != kind {
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

// What an authenticator says (WebAuthn Level 3, section 6.1). Pure.

/// The longest id of a credential, in bytes (section 7.1, step 25).
const LONGEST_ID: usize = 1_023;

/// A person was there (UP).
const PRESENT: u8 = 0x01;
/// The authenticator has verified who that was (UV).
const VERIFIED: u8 = 0x04;
/// The credential may leave its device (BE).
const BACKUP_ELIGIBLE: u8 = 0x08;
/// It is on others as well (BS).
const BACKED_UP: u8 = 0x10;
const ATTESTED: u8 = 0x40;
const EXTENDED: u8 = 0x80;

/// The authenticator's data, without what is in CBOR: the key and the outputs of extensions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AuthenticatorData<'a> {
    /// The hash of the relying party's id.
    pub(super) host_hash: &'a [u8; 32],
    flags: u8,
    /// The signature counter.
    pub(super) counter: u32,
    /// The id of a new credential.
    pub(super) credential: Option<&'a [u8]>,
}

impl<'a> AuthenticatorData<'a> {
    /// Reads the whole; `None` for anything that is no such data.
    // FAIL-CLOSED: lengths have to fit. Bytes stand behind the fixed part exactly where the flags
    // say so.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (host_hash, rest) = bytes.split_first_chunk::<32>()?;
        let (&flags, rest) = rest.split_first()?;
        let (counter, rest) = rest.split_first_chunk::<4>()?;
        let (credential, rest) = match flags & ATTESTED {
            0 => (None, rest),
            _ => {
                let (_model, rest) = rest.split_first_chunk::<16>()?;
                let (length, rest) = rest.split_first_chunk::<2>()?;
                let length = usize::from(u16::from_be_bytes(*length));
                let (id, rest) = rest.split_at_checked(length)?;
                (1..=LONGEST_ID).contains(&length).then_some((Some(id), rest))?
            }
        };
        let more = flags & (ATTESTED | EXTENDED) != 0;
        let counter = u32::from_be_bytes(*counter);
        (more != rest.is_empty()).then_some(Self { host_hash, flags, counter, credential })
    }

    /// Whether it says this.
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

// Public keys of passkeys: a SubjectPublicKeyInfo in DER (RFC 5280), of three kinds. Pure.

/// The COSE numbers of the algorithms that are offered to authenticators, the best first.
pub(super) const ALGORITHMS: [i64; 3] = [ES256, ED_DSA, RS256];
const ES256: i64 = -7;
const ED_DSA: i64 = -8;
const RS256: i64 = -257;

// Up to the BIT STRING; that of RSA is within a SEQUENCE whose length varies.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const ED: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const RSA: [u8; 15] =
    [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// The shortest modulus that signatures are verified with, in bytes: 2048 bits.
const SHORTEST_RSA: usize = 256;

/// Whether this is a key of this algorithm, which is one of those offered.
// SECURITY: a key is used for the algorithm of its own kind, whatever the browser says.
pub(super) fn is_key(algorithm: i64, info: &[u8]) -> bool {
    key(algorithm, info).is_some()
}

/// Whether the key has signed this.
fn is_signed(algorithm: i64, info: &[u8], signed: &[u8], signature: &[u8]) -> Option<()> {
    let (form, bytes) = key(algorithm, info)?;
    UnparsedPublicKey::new(form, bytes).verify(signed, signature).ok()
}

fn key(algorithm: i64, info: &[u8]) -> Option<(&'static dyn VerificationAlgorithm, &[u8])> {
    match algorithm {
        ES256 => {
            let point = info.strip_prefix(&P256)?;
            (point.len() == 65 && point.first() == Some(&4)).then_some(())?;
            Some((&ECDSA_P256_SHA256_ASN1, point))
        }
        ED_DSA => {
            let key = info.strip_prefix(&ED)?;
            (key.len() == 32).then_some((&ED25519, key))
        }
        RS256 => {
            let inner = der(0x30, info)?.strip_prefix(&RSA)?;
            // No bit of the last byte is unused.
            let key = der(0x03, inner)?.strip_prefix(&[0])?;
            (key.len() > SHORTEST_RSA && der(0x30, key).is_some()).then_some(())?;
            Some((&RSA_PKCS1_2048_8192_SHA256, key))
        }
        _ => None,
    }
}

/// The content of a DER value of this kind which is all there is.
fn der(kind: u8, bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(&[kind])?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 => {
            let (&length, rest) = rest.split_first()?;
            (usize::from(length), rest)
        }
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return None,
    };
    (rest.len() == length).then_some(rest)
}

#[cfg(test)]
mod tests;
