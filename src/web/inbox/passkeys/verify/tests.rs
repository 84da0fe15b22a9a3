//! Every check, by a ceremony that differs from a good one in one place.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

#[path = "../../../../../tests/support/authenticator.rs"]
mod authenticator;

use super::*;
use authenticator::{
    Authenticator, BACKED_UP, BACKUP_ELIGIBLE, EXTENDED, KeyKind, PRESENT, VERIFIED, encoded,
};
use rand::{Rng, RngCore, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

const ORIGIN: &str = "https://approve.example";
const CHALLENGE: &str = "Y2hhbGxlbmdl";
const KINDS: [KeyKind; 3] = [KeyKind::Es256, KeyKind::EdDsa, KeyKind::Rs256];

fn party() -> PublicUrl {
    PublicUrl { host: "approve.example".to_owned(), origin: ORIGIN.to_owned() }
}

fn options() -> Value {
    json!({ "challenge": CHALLENGE, "user": { "id": "aGFuZGxl" } })
}

fn registered(brought: Value) -> Result<CheckedPasskey, PasskeyRefusal> {
    registration(&party(), CHALLENGE, &serde_json::from_value(brought).unwrap())
}

/// The record of an authenticator that has made its passkey.
fn record(authenticator: &Authenticator) -> StoredPasskey {
    StoredPasskey {
        id: "1".to_owned(),
        credential: encoded(&authenticator.id),
        host: "approve.example".to_owned(),
        person: "chat:1".to_owned(),
        owner: "Ana".to_owned(),
        name: "a phone".to_owned(),
        handle: "aGFuZGxl".to_owned(),
        public_key: encoded(&authenticator.public_key()),
        algorithm: authenticator.algorithm(),
        counter: 1,
        backup_eligible: true,
        created_at: 0,
        used_at: None,
    }
}

fn shown(authenticator: &mut Authenticator, record: &StoredPasskey) -> Result<u32, PasskeyRefusal> {
    let brought = authenticator.get(&options());
    assertion(&party(), CHALLENGE, record, &serde_json::from_value(brought).unwrap())
}

fn ready(kind: KeyKind) -> (Authenticator, StoredPasskey) {
    let mut authenticator = Authenticator::new(kind, ORIGIN);
    authenticator.create(&options());
    let record = record(&authenticator);
    (authenticator, record)
}

/// What changes an authenticator.
type Change = fn(&mut Authenticator);

/// Changes that both ceremonies refuse, with the reason.
const REFUSED: [(Change, &str); 15] = [
    (|it| drop(it.client.insert("type".into(), json!("payment.get"))), "of another ceremony"),
    (|it| drop(it.client.insert("challenge".into(), json!("b3RoZXI"))), "another challenge"),
    (|it| drop(it.client.insert("challenge".into(), json!(""))), "another challenge"),
    (|it| drop(it.client.insert("challenge".into(), Value::Null)), "is not whole"),
    (|it| drop(it.client.insert("origin".into(), Value::Null)), "is not whole"),
    (|it| drop(it.client.insert("crossOrigin".into(), json!(true))), "another site's page"),
    (|it| drop(it.client.insert("crossOrigin".into(), json!("no"))), "is not whole"),
    (|it| drop(it.client.insert("topOrigin".into(), json!(ORIGIN))), "another site's page"),
    (|it| it.host = "evil.example".to_owned(), "for another host"),
    (|it| it.flags &= !PRESENT, "nobody was present"),
    (|it| it.flags &= !VERIFIED, "did not verify the person"),
    (|it| it.flags &= !BACKUP_ELIGIBLE, "is backed up and may not be"),
    (|it| it.origin = "https://evil.example".to_owned(), "at another origin"),
    (|it| it.origin = "http://approve.example".to_owned(), "at another origin"),
    (|it| it.origin = "https://approve.example:8443".to_owned(), "at another origin"),
];

#[test]
fn a_good_ceremony_passes_with_each_kind_of_key() {
    for kind in KINDS {
        let mut phone = Authenticator::new(kind, ORIGIN);
        let checked = registered(phone.create(&options())).unwrap();
        assert_eq!(checked, CheckedPasskey { counter: 1, backup_eligible: true }, "{kind:?}");
        let record = record(&phone);
        assert_eq!(shown(&mut phone, &record), Ok(2), "{kind:?}");
        // A browser that is asked for extensions adds some of its own, and new members come.
        phone.flags |= EXTENDED;
        phone.more = vec![0xa0];
        phone.client.insert("later".to_owned(), json!({ "x": 1 }));
        phone.client.insert("crossOrigin".to_owned(), Value::Null);
        assert_eq!(shown(&mut phone, &record), Ok(3), "{kind:?}");
    }
}

#[test]
fn a_passkey_that_stays_on_its_device_is_taken_too() {
    let (mut key, mut record) = ready(KeyKind::Es256);
    key.flags = PRESENT | VERIFIED;
    assert!(!registered(key.create(&options())).unwrap().backup_eligible);
    record.backup_eligible = false;
    assert!(shown(&mut key, &record).is_ok());
    key.flags |= BACKUP_ELIGIBLE | BACKED_UP;
    let refused = shown(&mut key, &record);
    assert_eq!(refused, Err("its backup eligibility has changed"));
}

#[test]
fn a_ceremony_that_differs_in_one_place_is_refused() {
    for (at, (change, why)) in REFUSED.iter().enumerate() {
        let mut phone = Authenticator::new(KeyKind::Es256, ORIGIN);
        change(&mut phone);
        let refused = registered(phone.create(&options())).unwrap_err();
        assert!(refused.contains(why), "new, {at}: {refused}");
        let (mut phone, record) = ready(KeyKind::Es256);
        change(&mut phone);
        let refused = shown(&mut phone, &record).unwrap_err();
        assert!(refused.contains(why), "shown, {at}: {refused}");
    }
}

#[test]
fn one_ceremony_is_not_taken_for_the_other() {
    let (mut phone, record) = ready(KeyKind::Es256);
    phone.client.insert("type".to_owned(), json!("webauthn.create"));
    assert_eq!(shown(&mut phone, &record), Err("its client data is of another ceremony"));
    let mut phone = Authenticator::new(KeyKind::Es256, ORIGIN);
    phone.client.insert("type".to_owned(), json!("webauthn.get"));
    let refused = registered(phone.create(&options()));
    assert_eq!(refused, Err("its client data is of another ceremony"));
}

#[test]
fn a_new_passkey_has_the_id_and_a_key_that_were_asked_for() {
    let create = || Authenticator::new(KeyKind::Es256, ORIGIN).create(&options());
    let ed = Authenticator::new(KeyKind::EdDsa, ORIGIN);
    let good = Authenticator::new(KeyKind::Es256, ORIGIN).public_key();
    let changed = |name: &str, value: Value| {
        let mut brought = create();
        brought[name] = value;
        registered(brought)
    };
    let no_key = Err("its key is of no algorithm that was offered");
    assert_eq!(changed("id", json!("b3RoZXI")), Err("its credential has another id"));
    assert_eq!(changed("id", json!("=")), Err("it is not written in base64url"));
    for algorithm in [-8, -257, -35, -36, -65535, 0, 7] {
        assert_eq!(changed("algorithm", json!(algorithm)), no_key, "{algorithm}");
    }
    assert_eq!(changed("publicKey", json!(encoded(&ed.public_key()))), no_key);
    for at in 0..good.len() {
        assert_eq!(changed("publicKey", json!(encoded(&good[..at]))), no_key, "cut at {at}");
    }
    let longer = encoded(&[&good[..], &[0]].concat());
    assert_eq!(changed("publicKey", json!(longer)), no_key);
    // Without a new credential at all.
    let mut phone = Authenticator::new(KeyKind::Es256, ORIGIN);
    let mut brought = create();
    let shows = phone.get(&options());
    brought["authenticatorData"] = shows["authenticatorData"].clone();
    assert_eq!(registered(brought), Err("it brings no new credential"));
    let mut long = Authenticator::new(KeyKind::Es256, ORIGIN);
    long.id = vec![1; 1_024];
    assert_eq!(registered(long.create(&options())), Err("its authenticator data is not whole"));
    long.id = vec![1; 1_023];
    assert!(registered(long.create(&options())).is_ok());
}

#[test]
fn an_rsa_key_of_another_form_is_no_key() {
    let good = Authenticator::new(KeyKind::Rs256, ORIGIN).public_key();
    assert!(is_key(-257, &good));
    for at in 0..good.len() {
        assert!(!is_key(-257, &good[..at]), "cut at {at}");
    }
    // Everything before the modulus says what kind of key it is.
    for at in 0..28 {
        let mut other = good.clone();
        other[at] ^= 0x41;
        assert!(!is_key(-257, &other), "changed at {at}");
    }
}

#[test]
fn only_the_key_of_the_passkey_signs_in_and_only_over_what_was_said() {
    for kind in KINDS {
        let (mut phone, record) = ready(kind);
        phone.spoils = true;
        assert_eq!(shown(&mut phone, &record), Err("its signature is wrong"), "{kind:?}");
        phone.spoils = false;
        let check = |brought: Value| {
            assertion(&party(), CHALLENGE, &record, &serde_json::from_value(brought).unwrap())
        };
        let good = phone.get(&options());
        assert!(check(good.clone()).is_ok());
        // Each bit of the data counts, though only some are looked at.
        let data = URL_SAFE_NO_PAD.decode(good["authenticatorData"].as_str().unwrap()).unwrap();
        for at in 0..data.len() * 8 {
            let mut changed = data.clone();
            changed[at / 8] ^= 1 << (at % 8);
            let mut brought = good.clone();
            brought["authenticatorData"] = json!(encoded(&changed));
            assert!(check(brought).is_err(), "{kind:?} bit {at}");
        }
        let mut brought = good.clone();
        let said = brought["clientDataJSON"].as_str().unwrap();
        let said = String::from_utf8(URL_SAFE_NO_PAD.decode(said).unwrap()).unwrap();
        brought["clientDataJSON"] = json!(encoded(format!("{said} ").as_bytes()));
        assert_eq!(check(brought), Err("its signature is wrong"));
        let doubled = said.replace("{\"type\"", "{\"origin\":\"https://x\",\"type\"");
        let mut brought = good;
        brought["clientDataJSON"] = json!(encoded(doubled.as_bytes()));
        assert_eq!(check(brought), Err("its client data is not whole"));
    }
    // Another key under the same id, of the same or of another kind.
    for kind in [KeyKind::Es256, KeyKind::EdDsa] {
        let (_, record) = ready(KeyKind::Es256);
        let mut thief = Authenticator::new(kind, ORIGIN);
        thief.create(&options());
        thief.id = URL_SAFE_NO_PAD.decode(&record.credential).unwrap();
        assert_eq!(shown(&mut thief, &record), Err("its signature is wrong"), "{kind:?}");
    }
}

#[test]
fn a_passkey_signs_in_its_own_person_alone_and_at_its_own_host() {
    let (mut phone, record) = ready(KeyKind::Es256);
    for handle in [None, Some("YmVu"), Some(""), Some("aGFuZGx")] {
        phone.handle = handle.map(str::to_owned);
        let refused = shown(&mut phone, &record);
        assert_eq!(refused, Err("its user handle is not that of its person"), "{handle:?}");
    }
    phone.handle = Some(record.handle.clone());
    let other = StoredPasskey { host: "old.example".to_owned(), ..record.clone() };
    assert_eq!(shown(&mut phone, &other), Err("it is of another credential"));
    let other = StoredPasskey { credential: "b3RoZXI".to_owned(), ..record.clone() };
    assert_eq!(shown(&mut phone, &other), Err("it is of another credential"));
    assert!(shown(&mut phone, &record).is_ok());
}

fn attested(id: &[u8], more: &[u8]) -> Vec<u8> {
    let length = u16::try_from(id.len()).unwrap().to_be_bytes();
    [&[7; 32][..], &[0x45], &[0, 0, 0, 9], &[1; 16], &length, id, more].concat()
}

#[test]
fn what_the_flags_say_is_what_is_there() {
    let plain = [&[7; 32][..], &[0x1d], &[0, 0, 1, 2]].concat();
    let read = AuthenticatorData::read(&plain).unwrap();
    assert_eq!((read.host_hash, read.counter, read.credential), (&[7; 32], 258, None));
    assert!(read.has(PRESENT) && read.has(VERIFIED));
    assert!(read.has(BACKUP_ELIGIBLE) && read.has(BACKED_UP));
    let new = attested(b"id", &[0xa0]);
    let read = AuthenticatorData::read(&new).unwrap();
    assert_eq!((read.credential, read.counter), (Some(&b"id"[..]), 9));
    assert!(!read.has(BACKUP_ELIGIBLE) && !read.has(BACKED_UP));
    let extended = [&[7; 32][..], &[0x80], &[0; 4], &[0xa0]].concat();
    assert!(!AuthenticatorData::read(&extended).unwrap().has(PRESENT));
}

#[test]
fn data_of_another_length_is_no_data() {
    for at in 0..37 {
        assert_eq!(AuthenticatorData::read(&vec![0; at]), None, "{at} bytes");
    }
    assert_eq!(AuthenticatorData::read(&[0; 38]), None, "bytes that no flag announces");
    let extended = [&[7; 32][..], &[0x80], &[0; 4]].concat();
    assert_eq!(AuthenticatorData::read(&extended), None, "an extension that is not there");
    let whole = attested(b"id", &[0xa0]);
    for at in 0..whole.len() {
        assert_eq!(AuthenticatorData::read(&whole[..at]), None, "cut at {at}");
    }
    assert_eq!(AuthenticatorData::read(&attested(b"", &[0xa0])), None, "no id");
    assert!(AuthenticatorData::read(&attested(&[1; LONGEST_ID], &[0xa0])).is_some());
    assert_eq!(AuthenticatorData::read(&attested(&[1; LONGEST_ID + 1], &[0xa0])), None);
}

#[test]
fn whatever_comes_in_is_read_or_refused() {
    let mut random = StdRng::seed_from_u64(1);
    let mut read = 0;
    for _ in 0..200_000 {
        let mut bytes = vec![0; random.random_range(0..120)];
        random.fill_bytes(&mut bytes);
        if let (true, Some(length)) = (bytes.len() > 55, bytes.get_mut(53)) {
            *length = 0;
        }
        let Some(found) = AuthenticatorData::read(&bytes) else { continue };
        read += 1;
        let id = found.credential.map_or(0, |id| id.len() + 18);
        assert!(bytes.len() >= 37 + id && found.host_hash == &bytes[..32]);
        assert_eq!(found.credential.is_some(), bytes[32] & ATTESTED != 0);
    }
    assert!(read > 1_000, "{read} were data");
}
