//! ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), checked before anything in them counts.
//! Pure; time is an argument.

use crate::inbox::{
    oidc::{
        OidcClaim, OidcSettings,
        provider::{Algorithm, ProviderKeys},
    },
    session::same,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// How far the provider's clock may be from ours, in seconds.
const SKEW: f64 = 60.0;
/// The longest name of a person, in bytes; that of `sub` in the specification.
const LONGEST: usize = 255;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: TokenAudience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    email: Option<String>,
    email_verified: Option<serde_json::Value>,
    groups: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TokenAudience {
    One(String),
    Several(Vec<String>),
}

/// Why nobody is let in by a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRefusal {
    /// It is not a token for this sign-in; for the log.
    Invalid(&'static str),
    /// It is, and the person cannot sign in by it; for them.
    Person(&'static str),
}

/// Who a token says that somebody is, by the configured claim.
// FAIL-CLOSED: every check has to succeed; a claim of another type or a missing one fails.
pub(super) fn person(
    config: &OidcSettings,
    keys: &ProviderKeys,
    token: &str,
    (nonce, now): (&str, i64),
) -> Result<String, TokenRefusal> {
    let claims = verified(keys, token).map_err(TokenRefusal::Invalid)?;
    claims.check(config, nonce, now).map_err(TokenRefusal::Invalid)?;
    claims.person(config).map_err(TokenRefusal::Person)
}

fn verified(keys: &ProviderKeys, token: &str) -> Result<Claims, &'static str> {
    let (signed, signature) = token.rsplit_once('.').ok_or("it is not a token")?;
    let (header, claims) = signed.split_once('.').ok_or("it is not a token")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "it is not a token")?;
    let header: Header = part(header).ok_or("it has no header")?;
    // RFC 7515, section 4.1.11: what is critical and not understood makes it invalid.
    if header.rest.contains_key("crit") {
        return Err("it has a critical extension");
    }
    let algorithm = Algorithm::read(&header.alg).ok_or("its algorithm is not accepted")?;
    keys.verify((algorithm, header.kid.as_deref()), signed.as_bytes(), &signature)?;
    part(claims).ok_or("its claims are not whole")
}

fn part<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

impl Claims {
    #[allow(
        clippy::cast_precision_loss,
        reason = "times in seconds are exact for 285 million years"
    )]
    fn check(&self, config: &OidcSettings, nonce: &str, now: i64) -> Result<(), &'static str> {
        let now = now as f64;
        if self.iss != config.issuer {
            return Err("it is of another issuer");
        }
        let (ours, alone) = match &self.aud {
            TokenAudience::One(one) => (*one == config.client_id, true),
            TokenAudience::Several(all) => (all.contains(&config.client_id), all.len() == 1),
        };
        if !ours {
            return Err("it is for another client");
        }
        match self.azp.as_deref() {
            None if alone => {}
            Some(azp) if azp == config.client_id => {}
            _ => return Err("it was issued to another client"),
        }
        if now >= self.exp + SKEW {
            return Err("it has expired");
        }
        if self.iat > now + SKEW || self.nbf.is_some_and(|nbf| nbf > now + SKEW) {
            return Err("it is not valid yet");
        }
        match self.nonce.as_deref() {
            Some(given) if same(nonce, given) => Ok(()),
            _ => Err("it is of another sign-in (nonce)"),
        }
    }

    fn person(&self, config: &OidcSettings) -> Result<String, &'static str> {
        if let Some(wanted) = &config.group {
            let groups = self.groups.as_ref().and_then(|groups| groups.as_array());
            if !groups.is_some_and(|groups| groups.iter().any(|group| *group == **wanted)) {
                return Err("Your account is not in the group that may sign in here.");
            }
        }
        let name = match config.claim {
            OidcClaim::Subject => self.sub.clone(),
            OidcClaim::VerifiedEmail => {
                // SECURITY: anybody can write down an address; only a verified one is theirs.
                if self.email_verified != Some(serde_json::Value::Bool(true)) {
                    return Err(
                        "Your mail address is not verified there, so it cannot sign you in.",
                    );
                }
                self.email.as_deref().unwrap_or_default().to_ascii_lowercase()
            }
        };
        let fits = (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control);
        fits.then_some(name).ok_or("Your account there has no id that could be used here.")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use ring::{
        rand::SystemRandom,
        signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
    };
    use serde_json::{Value, json};
    use std::time::Duration;

    const NOW: i64 = 1_000_000;

    fn config() -> OidcSettings {
        OidcSettings {
            issuer: "https://login.example".to_owned(),
            client_id: "inbox".to_owned(),
            client_secret: None,
            claim: OidcClaim::Subject,
            group: None,
            scopes: vec![],
            session: Duration::from_secs(60),
            ca_file: None,
        }
    }

    fn claims() -> Value {
        json!({"iss": "https://login.example", "sub": "ana", "aud": "inbox", "nonce": "once",
            "iat": NOW, "exp": NOW + 60})
    }

    fn encoded(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    struct Signer {
        curve: EcdsaKeyPair,
        edwards: Ed25519KeyPair,
    }

    impl Signer {
        fn new() -> Self {
            let form = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let random = SystemRandom::new();
            let curve = EcdsaKeyPair::generate_pkcs8(form, &random).unwrap();
            let edwards = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
            Self {
                curve: EcdsaKeyPair::from_pkcs8(form, curve.as_ref(), &random).unwrap(),
                edwards: Ed25519KeyPair::from_pkcs8(edwards.as_ref()).unwrap(),
            }
        }

        fn curve_key(&self) -> Value {
            let point = self.curve.public_key().as_ref().get(1..).unwrap();
            let (x, y) = point.split_at(32);
            json!({"kty": "EC", "crv": "P-256", "kid": "c", "x": encoded(x), "y": encoded(y)})
        }

        fn edwards_key(&self) -> Value {
            let x = encoded(self.edwards.public_key().as_ref());
            json!({"kty": "OKP", "crv": "Ed25519", "kid": "e", "x": x})
        }

        fn token(&self, header: &Value, claims: &Value) -> String {
            let part = |value: &Value| encoded(value.to_string().as_bytes());
            let signed = format!("{}.{}", part(header), part(claims));
            let signature = match header["alg"].as_str() {
                Some("EdDSA") => self.edwards.sign(signed.as_bytes()).as_ref().to_vec(),
                _ => {
                    let signed = self.curve.sign(&SystemRandom::new(), signed.as_bytes());
                    signed.unwrap().as_ref().to_vec()
                }
            };
            format!("{signed}.{}", encoded(&signature))
        }
    }

    fn check(keys: &[Value], token: &str) -> Result<String, TokenRefusal> {
        let keys = ProviderKeys::read(&json!({ "keys": keys })).unwrap();
        person(&config(), &keys, token, ("once", NOW))
    }

    #[test]
    fn a_token_is_taken_with_each_kind_of_key_and_with_that_kind_alone() {
        let signer = Signer::new();
        let all = [json!({"kty": "new"}), json!(7), signer.curve_key(), signer.edwards_key()];
        for (alg, kid, other) in [("ES256", "c", "e"), ("EdDSA", "e", "c")] {
            let token = signer.token(&json!({"alg": alg, "kid": kid}), &claims());
            assert_eq!(check(&all, &token), Ok("ana".to_owned()), "{alg}");
            let unnamed = signer.token(&json!({ "alg": alg }), &claims());
            assert_eq!(check(&all, &unnamed), Ok("ana".to_owned()), "the only one of its kind");
            let wrong = signer.token(&json!({"alg": alg, "kid": other}), &claims());
            assert_eq!(
                check(&all, &wrong),
                Err(TokenRefusal::Invalid("its provider has no such key"))
            );
        }
    }

    #[test]
    fn a_key_for_something_else_or_one_of_several_is_none() {
        let signer = Signer::new();
        let token = signer.token(&json!({"alg": "ES256"}), &claims());
        for (name, value) in [("use", "enc"), ("alg", "ES384"), ("crv", "P-384"), ("kty", "RSA")] {
            let mut key = signer.curve_key();
            key[name] = json!(value);
            let none = Err(TokenRefusal::Invalid("its provider has no such key"));
            assert_eq!(check(&[key], &token), none, "{name}");
        }
        let two = [signer.curve_key(), signer.curve_key()];
        let several = TokenRefusal::Invalid("its provider has several keys that it may mean");
        assert_eq!(check(&two, &token), Err(several));
        let stranger = Signer::new().curve_key();
        assert_eq!(
            check(&[stranger], &token),
            Err(TokenRefusal::Invalid("its signature is wrong"))
        );
    }

    #[test]
    fn no_algorithm_without_a_key_of_the_provider_is_taken() {
        let signer = Signer::new();
        let keys = [signer.curve_key(), signer.edwards_key()];
        for alg in ["none", "None", "HS256", "HS512", "RS1", "es256", "ES256K", "RSA-OAEP", ""] {
            let token = signer.token(&json!({ "alg": alg }), &claims());
            let refused = Err(TokenRefusal::Invalid("its algorithm is not accepted"));
            assert_eq!(check(&keys, &token), refused, "{alg}");
            let bare = format!("{}.", token.rsplit_once('.').unwrap().0);
            assert_eq!(check(&keys, &bare), refused, "{alg}");
        }
        let critical = signer.token(&json!({"alg": "ES256", "crit": []}), &claims());
        let refused = Err(TokenRefusal::Invalid("it has a critical extension"));
        assert_eq!(check(&keys, &critical), refused);
        for odd in ["", ".", "..", "a.b.c", "e30.e30.e30", "e30.e30"] {
            assert!(matches!(check(&keys, odd), Err(TokenRefusal::Invalid(_))), "{odd}");
        }
    }

    #[test]
    fn every_claim_has_to_fit_and_times_have_a_minute_of_grace() {
        let signer = Signer::new();
        let with = |name: &str, value: Value| {
            let mut claims = claims();
            claims[name] = value;
            let token = signer.token(&json!({"alg": "ES256"}), &claims);
            check(&[signer.curve_key()], &token)
        };
        for (name, value) in [
            ("aud", json!(["inbox"])),
            ("azp", json!("inbox")),
            ("exp", json!(NOW - 59)),
            ("exp", json!(NOW as f64 + 0.5)),
            ("iat", json!(NOW + 60)),
            ("nbf", json!(NOW + 60)),
        ] {
            assert_eq!(with(name, value.clone()), Ok("ana".to_owned()), "{name} {value}");
        }
        for (name, value) in [
            ("aud", json!([])),
            ("aud", json!(["inbox", "other"])),
            ("aud", json!({"inbox": true})),
            ("aud", json!("INBOX")),
            ("azp", json!("")),
            ("azp", json!(["inbox"])),
            ("iss", json!("https://login.example/")),
            ("exp", json!(NOW - 60)),
            ("exp", json!((NOW + 60).to_string())),
            ("exp", Value::Null),
            ("iat", json!(NOW + 61)),
            ("iat", Value::Null),
            ("nbf", json!(NOW + 61)),
            ("nonce", json!("")),
            ("nonce", json!("once ")),
            ("nonce", Value::Null),
        ] {
            let refused = with(name, value.clone());
            assert!(
                matches!(refused, Err(TokenRefusal::Invalid(_))),
                "{name} {value}: {refused:?}"
            );
        }
        let audiences = json!({"aud": ["inbox", "other"], "azp": "inbox"});
        let mut both = claims();
        for (name, value) in audiences.as_object().unwrap() {
            both[name] = value.clone();
        }
        let token = signer.token(&json!({"alg": "ES256"}), &both);
        assert_eq!(check(&[signer.curve_key()], &token), Ok("ana".to_owned()));
    }
}
