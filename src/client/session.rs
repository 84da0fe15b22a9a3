//! The key of this installation, and the secrets of its sessions.
//!
//! A grant for a session covers the calls of every process with the session's secret. The secret is
//! derived from a key in a file of this user, so all processes of this installation have the same
//! one.

use crate::settings::Places;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use countersign_tokens::{file, ids};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// The path of this user's key; `None` without a home folder.
#[must_use]
pub fn key_file() -> Option<PathBuf> {
    Some(Places::of_account(None).ok()?.state.join("client.key"))
}

/// The secret of a session; `None` if no key can be stored. The session's grants then cover every
/// caller that has no secret either.
pub(crate) fn secret(agent: &str, session: &str) -> Option<String> {
    let file = key_file()?;
    match key(&file) {
        Ok(key) => derived(&key, agent, session),
        Err(error) => {
            tracing::debug!(file = %file.display(), %error, "sessions have no secret");
            None
        }
    }
}

/// Proves that this installation wrote a text; `None` if no key can be stored.
#[must_use]
pub fn seal(text: &str) -> Option<String> {
    let key = key(&key_file()?).ok()?;
    encoded(mac(&key, &sealed(text))?)
}

/// Whether this installation wrote a text.
#[must_use]
pub fn is_sealed(text: &str, seal: &str) -> bool {
    let key = key_file().and_then(|file| key(&file).ok());
    let mac = key.and_then(|key| mac(&key, &sealed(text)));
    let seal = URL_SAFE_NO_PAD.decode(seal);
    mac.zip(seal.ok()).is_some_and(|(mac, seal)| mac.verify_slice(&seal).is_ok())
}

/// It begins otherwise than the text of [`derived`], so no secret of a session is a seal.
fn sealed(text: &str) -> String {
    format!("seal {text}")
}

/// Reads the key, and creates it on first use.
fn key(file: &Path) -> io::Result<String> {
    if let Some(key) = read(file)? {
        return Ok(key);
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Written atomically and for its owner alone. If two processes create it at once, the second
    // reads the first one's key, so that both derive the same secrets.
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(ids::token().as_bytes())?;
    match new.persist_noclobber(file) {
        Err(failed) if failed.error.kind() != io::ErrorKind::AlreadyExists => Err(failed.error),
        Ok(_) | Err(_) => read(file)?.ok_or_else(|| io::Error::other("it holds no key")),
    }
}

fn read(file: &Path) -> io::Result<Option<String>> {
    // A shorter text is a damaged key. It is an error later, not replaced: other processes may still
    // use the old one.
    let text = file::read(file)?.map(|text| text.trim().to_owned());
    Ok(text.filter(|key| key.len() >= 32))
}

fn derived(key: &str, agent: &str, session: &str) -> Option<String> {
    // The lengths come first, so that no two pairs of names give the same text.
    encoded(mac(key, &format!("session {} {} {agent}{session}", agent.len(), session.len()))?)
}

fn mac(key: &str, text: &str) -> Option<Hmac<Sha256>> {
    Some(Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?.chain_update(text))
}

fn encoded(mac: Hmac<Sha256>) -> Option<String> {
    Some(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/client.key");
        let made = key(&file).unwrap();
        assert_eq!(key(&file).unwrap(), made);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        fs::write(&file, "cut").unwrap();
        assert!(key(&file).is_err(), "a broken key is not replaced behind other processes' backs");
    }

    #[test]
    fn every_session_of_every_agent_has_a_secret_of_its_own() {
        let of = |agent, session| derived("a-key", agent, session);
        assert_eq!(of("a", "bc"), of("a", "bc"));
        for (agent, session) in [("ab", "c"), ("a", "bd"), ("", "abc"), ("abc", "")] {
            assert_ne!(of("a", "bc"), of(agent, session), "{agent} {session}");
        }
        assert_ne!(of("a", "bc"), derived("another key", "a", "bc"));
    }
}
