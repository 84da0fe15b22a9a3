//! Who sends: a token for the push service, signed with a key that the browsers know (RFC 8292).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    error::Unspecified,
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::json;

/// How long a token is valid, in seconds. The RFC allows a day.
const VALID: i64 = 12 * 60 * 60;

/// The key that signs for this daemon.
pub(super) struct SenderKey(EcdsaKeyPair);

impl SenderKey {
    /// A new one, as PKCS #8.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn generate() -> Result<Vec<u8>, Unspecified> {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)?;
        Ok(key.as_ref().to_vec())
    }

    /// Reads a key that [`Self::generate`] made.
    pub(super) fn read(pkcs8: &[u8]) -> Option<Self> {
        let (form, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        EcdsaKeyPair::from_pkcs8(form, pkcs8, &random).ok().map(Self)
    }

    /// The public key as browsers take it when they subscribe.
    pub(super) fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.public_key())
    }

    /// The `Authorization` of a request to the push service `audience`, an origin. `contact` is an
    /// address where its operator finds us; `now` is in Unix seconds.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(super) fn authorization(
        &self,
        audience: &str,
        contact: &str,
        now: i64,
    ) -> Result<String, Unspecified> {
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let claims = json!({ "aud": audience, "exp": now + VALID, "sub": contact });
        let signed = format!("{}.{}", part(json!({ "typ": "JWT", "alg": "ES256" })), part(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes())?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("vapid t={signed}.{signature}, k={}", self.public()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    #[test]
    fn a_token_names_its_service_and_is_signed_with_the_key_that_it_shows() {
        let key = SenderKey::read(&SenderKey::generate().unwrap()).unwrap();
        let header = key.authorization("https://push.example", "https://me.example", 1000).unwrap();
        let (token, public) = header.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, key.public());
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let (head, claims) = signed.split_once('.').unwrap();
        let head: Value = serde_json::from_slice(&decoded(head)).unwrap();
        let claims: Value = serde_json::from_slice(&decoded(claims)).unwrap();
        assert_eq!(head, json!({ "typ": "JWT", "alg": "ES256" }));
        let (aud, sub) = ("https://push.example", "https://me.example");
        assert_eq!(claims, json!({ "aud": aud, "exp": 1000 + VALID, "sub": sub }));
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(public));
        assert_eq!(public.verify(signed.as_bytes(), &decoded(signature)), Ok(()));
    }

    #[test]
    fn what_is_no_key_is_none() {
        assert!(SenderKey::read(b"").is_none());
        assert!(SenderKey::read(&[1; 138]).is_none());
    }
}
