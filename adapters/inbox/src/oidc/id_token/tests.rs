#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use serde_json::{Value, json};
use std::time::Duration;

const NOW: i64 = 1_000_000;

fn config() -> OidcConfig {
    OidcConfig {
        issuer: "https://login.example".to_owned(),
        client_id: "inbox".to_owned(),
        client_secret: None,
        redirect_uri: "https://approve.example/sign-in".to_owned(),
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
        let (form, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
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
        assert_eq!(check(&all, &wrong), Err(TokenRefusal::Invalid("its provider has no such key")));
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
    assert_eq!(check(&[stranger], &token), Err(TokenRefusal::Invalid("its signature is wrong")));
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
        assert!(matches!(refused, Err(TokenRefusal::Invalid(_))), "{name} {value}: {refused:?}");
    }
    let audiences = json!({"aud": ["inbox", "other"], "azp": "inbox"});
    let mut both = claims();
    for (name, value) in audiences.as_object().unwrap() {
        both[name] = value.clone();
    }
    let token = signer.token(&json!({"alg": "ES256"}), &both);
    assert_eq!(check(&[signer.curve_key()], &token), Ok("ana".to_owned()));
}
