//! The public keys of an identity provider (RFC 7517), and the signatures that they verify.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

/// A way of signing that is taken.
// SECURITY: `none` is not among them, nor is any with a shared secret, where a provider's public
// key could be used as that secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    EdDsa,
}

/// All keys of a provider.
pub(super) struct ProviderKeys(Vec<Jwk>);

/// One key. Members that are not known are allowed, as the RFC says.
#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Algorithm {
    /// By its name in a token.
    pub(super) fn read(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl ProviderKeys {
    /// Reads a provider's set. ProviderKeys of kinds that are not known here are left out.
    pub(super) fn read(set: &Value) -> Option<Self> {
        let keys = set.get("keys")?.as_array()?;
        Some(Self(keys.iter().filter_map(|key| Jwk::deserialize(key).ok()).collect()))
    }

    /// How many of them may sign a token.
    pub(super) fn usable(&self) -> usize {
        let all = [Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa];
        self.0.iter().filter(|key| all.iter().any(|algorithm| key.is_for(*algorithm))).count()
    }

    /// Whether one of the keys that a token may mean has signed this.
    // FAIL-CLOSED: a token that names its key is verified with that key alone.
    pub(super) fn verify(
        &self,
        (algorithm, kid): (Algorithm, Option<&str>),
        signed: &[u8],
        signature: &[u8],
    ) -> Result<(), &'static str> {
        let mut fitting = self.0.iter().filter(|key| {
            key.is_for(algorithm) && kid.is_none_or(|kid| key.kid.as_deref() == Some(kid))
        });
        let key = fitting.next().ok_or("its provider has no such key")?;
        if fitting.next().is_some() {
            return Err("its provider has several keys that it may mean");
        }
        key.verify(algorithm, signed, signature).ok_or("its signature is wrong")
    }
}

impl Jwk {
    // SECURITY: a key is used for the algorithm of its own kind, whatever a token says.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        let kind = match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => self.kty == "RSA",
            Algorithm::Es256 => self.kty == "EC" && self.crv.as_deref() == Some("P-256"),
            Algorithm::EdDsa => self.kty == "OKP" && self.crv.as_deref() == Some("Ed25519"),
        };
        kind && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == algorithm.name())
    }

    fn verify(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> Option<()> {
        match algorithm {
            Algorithm::Rs256 => self.rsa(&RSA_PKCS1_2048_8192_SHA256, signed, signature),
            Algorithm::Ps256 => self.rsa(&RSA_PSS_2048_8192_SHA256, signed, signature),
            Algorithm::Es256 => {
                let point = [vec![4], bytes(&self.x)?, bytes(&self.y)?].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(signed, signature).ok()
            }
            Algorithm::EdDsa => {
                let key = UnparsedPublicKey::new(&ED25519, bytes(&self.x)?);
                key.verify(signed, signature).ok()
            }
        }
    }

    fn rsa(&self, form: &RsaParameters, signed: &[u8], signature: &[u8]) -> Option<()> {
        let (n, e) = (bytes(&self.n)?, bytes(&self.e)?);
        RsaPublicKeyComponents { n, e }.verify(form, signed, signature).ok()
    }
}

fn bytes(text: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.as_deref()?).ok()
}
