//! The encryption of a push message, so that the push service between us and the browser cannot
//! read it: RFC 8291, in the form of RFC 8188 (`aes128gcm`).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral},
    error::Unspecified,
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    rand::{SecureRandom, SystemRandom},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::json;

/// An uncompressed point of P-256.
pub(super) const PUBLIC_LEN: usize = 65;
/// The length of the secret that a browser shares with us.
pub(super) const SECRET_LEN: usize = 16;
/// The record size; a message is one record, so a larger text would be cut in two.
const RECORD: u32 = 4096;
/// What follows the last text of the last record.
const END: u8 = 2;

/// The keys of a browser, as it hands them out when it subscribes.
#[derive(Clone, Copy)]
pub(super) struct BrowserKeys {
    pub(super) public: [u8; PUBLIC_LEN],
    pub(super) secret: [u8; SECRET_LEN],
}

/// Encrypts a text for one browser.
///
/// # Errors
/// If the browser's key is no point of the curve.
pub(super) fn encrypt(to: &BrowserKeys, text: &[u8]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let ours = EphemeralPrivateKey::generate(&ECDH_P256, &random)?;
    let our_public = ours.compute_public_key()?;
    let mut salt = [0; 16];
    random.fill(&mut salt)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, &to.public);
    agree_ephemeral(ours, &theirs, |shared| seal(shared, to, our_public.as_ref(), &salt, text))?
}

/// The steps after the agreement on a shared secret (RFC 8291, section 3.4).
fn seal(
    shared: &[u8],
    to: &BrowserKeys,
    our_public: &[u8],
    salt: &[u8; 16],
    text: &[u8],
) -> Result<Vec<u8>, Unspecified> {
    let agreed = Salt::new(HKDF_SHA256, &to.secret).extract(shared);
    let input: [u8; 32] = expand(&agreed, &[b"WebPush: info\0", &to.public, our_public])?;
    let keys = Salt::new(HKDF_SHA256, salt).extract(&input);
    let key: [u8; 16] = expand(&keys, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; NONCE_LEN] = expand(&keys, &[b"Content-Encoding: nonce\0"])?;
    let mut record = [text, &[END]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::empty(), &mut record)?;
    let length = u8::try_from(our_public.len()).map_err(|_| Unspecified)?;
    Ok([&salt[..], &RECORD.to_be_bytes(), &[length], our_public, &record].concat())
}

fn expand<const N: usize>(key: &Prk, info: &[&[u8]]) -> Result<[u8; N], Unspecified> {
    let mut bytes = [0; N];
    key.expand(info, Length(N))?.fill(&mut bytes)?;
    Ok(bytes)
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

// Who sends: a token for the push service, signed with a key that the browsers know (RFC 8292).

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
        let form = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
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
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
    use serde_json::Value;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    // The values are those of RFC 8291, appendix A.
    const BROWSER: &str = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZ\
                           GH6SRpkNtoIAiw4";
    const OURS: &str = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8w\
                        EqKK6PBru3jl7A8";

    #[test]
    fn the_example_of_the_rfc_is_sealed_to_the_letter() {
        let to = BrowserKeys { public: bytes(BROWSER), secret: bytes("BTBZMqHH6r4Tts7J_aSIgg") };
        let shared: [u8; 32] = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let ours: [u8; PUBLIC_LEN] = bytes(OURS);
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw");
        let text = b"When I grow up, I want to be a watermelon";
        let sealed = seal(&shared, &to, &ours, &salt, text).unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(sealed),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc\
             InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLV\
             WGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn a_key_that_is_no_point_of_the_curve_is_refused() {
        let to = BrowserKeys { public: [4; PUBLIC_LEN], secret: [0; SECRET_LEN] };
        assert_eq!(encrypt(&to, b"text"), Err(Unspecified));
    }

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
        let aud = "https://push.example";
        let sub = "https://me.example";
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
