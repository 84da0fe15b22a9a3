//! The checks of a relying party without attestation (WebAuthn Level 3, sections 7.1 and 7.2).
//! Pure.

use super::{
    authenticator_data::AuthenticatorData,
    client_data::{self, CeremonyKind},
    public_key,
    records::PasskeyRecord,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Why something is refused; for the log.
pub(super) type PasskeyRefusal = &'static str;

/// For whom passkeys are made.
#[derive(Debug, Clone)]
pub(super) struct RelyingParty {
    /// Its id.
    pub(super) host: String,
    pub(super) origin: String,
}

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
    party: &RelyingParty,
    challenge: &str,
    brought: &BroughtPasskey,
) -> Result<CheckedPasskey, PasskeyRefusal> {
    let said = decode(&brought.client_data)?;
    client_data::check(&said, CeremonyKind::Create, (challenge, &party.origin))?;
    let data = decode(&brought.authenticator_data)?;
    let data = checked(party, &data)?;
    let id = data.credential.ok_or("it brings no new credential")?;
    if decode(&brought.id)? != id {
        return Err("its credential has another id");
    }
    if !public_key::is_key(brought.algorithm, &decode(&brought.public_key)?) {
        return Err("its key is of no algorithm that was offered");
    }
    let backup_eligible = data.is_backup_eligible();
    Ok(CheckedPasskey { counter: data.counter, backup_eligible })
}

/// Checks that somebody signs in with this passkey (section 7.2); returns its counter, which the
/// store compares.
pub(super) fn assertion(
    party: &RelyingParty,
    challenge: &str,
    passkey: &PasskeyRecord,
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
    client_data::check(&said, CeremonyKind::Get, (challenge, &party.origin))?;
    let bytes = decode(&brought.authenticator_data)?;
    let data = checked(party, &bytes)?;
    if data.credential.is_some() {
        return Err("it brings a new credential");
    }
    if data.is_backup_eligible() != passkey.backup_eligible {
        return Err("its backup eligibility has changed");
    }
    let signed = [&*bytes, &*Sha256::digest(&said)].concat();
    let (key, signature) = (decode(&passkey.public_key)?, decode(&brought.signature)?);
    public_key::verify(passkey.algorithm, &key, &signed, &signature)
        .ok_or("its signature is wrong")?;
    Ok(data.counter)
}

/// The authenticator's data, with what both ceremonies ask of it.
fn checked<'a>(
    party: &RelyingParty,
    bytes: &'a [u8],
) -> Result<AuthenticatorData<'a>, PasskeyRefusal> {
    let data = AuthenticatorData::read(bytes).ok_or("its authenticator data is not whole")?;
    if data.host_hash[..] != Sha256::digest(&party.host)[..] {
        return Err("it is for another host");
    }
    if !data.is_present() {
        return Err("nobody was present");
    }
    if !data.is_verified() {
        return Err("its authenticator did not verify the person");
    }
    if data.is_backed_up() && !data.is_backup_eligible() {
        return Err("it is backed up and may not be");
    }
    Ok(data)
}

fn decode(text: &str) -> Result<Vec<u8>, PasskeyRefusal> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| "it is not written in base64url")
}

#[cfg(test)]
mod tests;
