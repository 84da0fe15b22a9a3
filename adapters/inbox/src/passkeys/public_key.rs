//! Public keys of passkeys: a SubjectPublicKeyInfo in DER (RFC 5280), of three kinds. Pure.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};

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
pub(super) fn verify(algorithm: i64, info: &[u8], signed: &[u8], signature: &[u8]) -> Option<()> {
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
