//! What an authenticator says (WebAuthn Level 3, section 6.1). Pure.

/// The longest id of a credential, in bytes (section 7.1, step 25).
const LONGEST_ID: usize = 1_023;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
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

    /// Whether a person was there (UP).
    pub(super) fn is_present(&self) -> bool {
        self.flags & PRESENT != 0
    }

    /// Whether the authenticator has verified who that was (UV).
    pub(super) fn is_verified(&self) -> bool {
        self.flags & VERIFIED != 0
    }

    /// Whether the credential may leave its device (BE).
    pub(super) fn is_backup_eligible(&self) -> bool {
        self.flags & BACKUP_ELIGIBLE != 0
    }

    /// Whether it is on others as well (BS).
    pub(super) fn is_backed_up(&self) -> bool {
        self.flags & BACKED_UP != 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use rand::{Rng, RngCore, SeedableRng, rngs::StdRng};

    fn attested(id: &[u8], more: &[u8]) -> Vec<u8> {
        let length = u16::try_from(id.len()).unwrap().to_be_bytes();
        [&[7; 32][..], &[0x45], &[0, 0, 0, 9], &[1; 16], &length, id, more].concat()
    }

    #[test]
    fn what_the_flags_say_is_what_is_there() {
        let plain = [&[7; 32][..], &[0x1d], &[0, 0, 1, 2]].concat();
        let read = AuthenticatorData::read(&plain).unwrap();
        assert_eq!((read.host_hash, read.counter, read.credential), (&[7; 32], 258, None));
        assert!(read.is_present() && read.is_verified());
        assert!(read.is_backup_eligible() && read.is_backed_up());
        let new = attested(b"id", &[0xa0]);
        let read = AuthenticatorData::read(&new).unwrap();
        assert_eq!((read.credential, read.counter), (Some(&b"id"[..]), 9));
        assert!(!read.is_backup_eligible() && !read.is_backed_up());
        let extended = [&[7; 32][..], &[0x80], &[0; 4], &[0xa0]].concat();
        assert!(!AuthenticatorData::read(&extended).unwrap().is_present());
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
}
