//! A software authenticator (WebAuthn): it makes and shows passkeys as a browser hands them to a
//! page, and every part of what it says can be changed.
//!
//! `let mut phone = Authenticator::new(KeyKind::Es256, "https://approve.example");`, then
//! `phone.create(&options)` and `phone.get(&options)` with `publicKey` of the daemon's reply.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a stand-in fails by panicking, and no test uses all of it"
)]

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
        RsaKeyPair,
    },
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub const PRESENT: u8 = 0x01;
pub const VERIFIED: u8 = 0x04;
pub const BACKUP_ELIGIBLE: u8 = 0x08;
pub const BACKED_UP: u8 = 0x10;
pub const ATTESTED: u8 = 0x40;
pub const EXTENDED: u8 = 0x80;

/// The kind of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    Es256,
    EdDsa,
    Rs256,
}

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

/// One authenticator with one passkey.
pub struct Authenticator {
    pair: Pair,
    /// The id of its credential.
    pub id: Vec<u8>,
    /// The flags of what it says, besides that of a new credential.
    pub flags: u8,
    /// The counter that it shows next; it counts by itself unless it is zero.
    pub counter: u32,
    pub origin: String,
    pub host: String,
    /// Members of the client data that differ; null: left out.
    pub client: Map<String, Value>,
    /// Given with the passkey when it was made.
    pub handle: Option<String>,
    /// Bytes behind the authenticator's data.
    pub more: Vec<u8>,
    /// Whether its signature is spoilt.
    pub spoils: bool,
}

impl Authenticator {
    pub fn new(kind: KeyKind, origin: &str) -> Self {
        let random = SystemRandom::new();
        let pair = match kind {
            KeyKind::Es256 => {
                let form = &ECDSA_P256_SHA256_ASN1_SIGNING;
                let made = EcdsaKeyPair::generate_pkcs8(form, &random).unwrap();
                Pair::Es256(EcdsaKeyPair::from_pkcs8(form, made.as_ref(), &random).unwrap())
            }
            KeyKind::EdDsa => {
                let made = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
                Pair::EdDsa(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap())
            }
            KeyKind::Rs256 => {
                let text: String = include_str!("oidc/rsa.txt").lines().collect();
                Pair::Rs256(RsaKeyPair::from_der(&STANDARD.decode(text).unwrap()).unwrap())
            }
        };
        let host = origin.split("//").nth(1).unwrap().split(':').next().unwrap().to_owned();
        Self {
            pair,
            id: rand::random::<[u8; 32]>().to_vec(),
            flags: PRESENT | VERIFIED | BACKUP_ELIGIBLE | BACKED_UP,
            counter: 1,
            origin: origin.to_owned(),
            host,
            client: Map::new(),
            handle: None,
            more: vec![],
            spoils: false,
        }
    }

    /// The COSE number of its key's algorithm.
    pub fn algorithm(&self) -> i64 {
        match self.pair {
            Pair::Es256(_) => -7,
            Pair::EdDsa(_) => -8,
            Pair::Rs256(_) => -257,
        }
    }

    /// Its public key as `getPublicKey()` hands it out.
    pub fn public_key(&self) -> Vec<u8> {
        let hex = |text: &str| -> Vec<u8> {
            let pairs = (0..text.len()).step_by(2);
            pairs.map(|at| u8::from_str_radix(text.get(at..at + 2).unwrap(), 16).unwrap()).collect()
        };
        match &self.pair {
            Pair::Es256(pair) => {
                let head = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
                [hex(head), pair.public_key().as_ref().to_vec()].concat()
            }
            Pair::EdDsa(pair) => {
                [hex("302a300506032b6570032100"), pair.public_key().as_ref().to_vec()].concat()
            }
            Pair::Rs256(pair) => {
                let bits = [&[0], pair.public_key().as_ref()].concat();
                let inner = [hex("300d06092a864886f70d0101010500"), der(3, &bits)].concat();
                der(0x30, &inner)
            }
        }
    }

    /// Makes the passkey: what the page sends the daemon.
    pub fn create(&mut self, options: &Value) -> Value {
        self.handle = options["user"]["id"].as_str().map(str::to_owned);
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let credential = [&[0; 16][..], &length, &self.id, &[0xa0]].concat();
        let data = self.data(ATTESTED, &credential);
        json!({
            "id": encoded(&self.id),
            "clientDataJSON": encoded(&self.client_data("webauthn.create", options)),
            "authenticatorData": encoded(&data),
            "publicKey": encoded(&self.public_key()),
            "algorithm": self.algorithm(),
        })
    }

    /// Shows the passkey: what the page sends the daemon.
    pub fn get(&mut self, options: &Value) -> Value {
        let client = self.client_data("webauthn.get", options);
        let data = self.data(0, &[]);
        let mut signature = self.sign(&[&*data, &*Sha256::digest(&client)].concat());
        if self.spoils {
            *signature.last_mut().unwrap() ^= 1;
        }
        json!({
            "id": encoded(&self.id),
            "clientDataJSON": encoded(&client),
            "authenticatorData": encoded(&data),
            "signature": encoded(&signature),
            "userHandle": self.handle,
        })
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let mut said = json!({
            "type": kind, "challenge": options["challenge"], "origin": self.origin,
            "crossOrigin": false,
        });
        for (name, value) in &self.client {
            match value {
                Value::Null => drop(said.as_object_mut().unwrap().remove(name)),
                value => said[name] = value.clone(),
            }
        }
        said.to_string().into_bytes()
    }

    fn data(&mut self, flags: u8, credential: &[u8]) -> Vec<u8> {
        let counter = self.counter.to_be_bytes();
        self.counter += u32::from(self.counter > 0);
        let host = Sha256::digest(&self.host);
        [&*host, &[self.flags | flags], &counter, credential, &self.more].concat()
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Es256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::EdDsa(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

pub fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A DER value of 256 bytes or more.
fn der(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[kind, 0x82][..], &length, content].concat()
}
