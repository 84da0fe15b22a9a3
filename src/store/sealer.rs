//! Seals the log: lets new events join the chain and signs it, with a key in the state folder.

use super::{Store, StoreError, private};
use crate::{
    audit::{LogHead, PublicKey, SigningKey},
    clock,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The file with the signing key, in the state folder.
// SECURITY: the folder is closed to other users, and the guardrail keeps agents out of it.
const KEY: &str = "log.key";
/// The file with the newest head that was signed: a store that was cut off or put back is noticed.
const HEAD: &str = "log.head";
/// How often new events are sealed.
const ROUND: Duration = Duration::from_secs(1);

/// Seals the log of a store.
#[derive(Debug)]
pub struct LogSealer {
    store: Store,
    key: Arc<SigningKey>,
    state: PathBuf,
    /// The newest head in the file. Held while sealing, so that the file never goes back.
    head: Mutex<Option<LogHead>>,
}

impl LogSealer {
    /// Reads the key in this folder, or makes one at the first start.
    ///
    /// # Errors
    /// When the key cannot be read or written.
    // FAIL-CLOSED: a key that cannot be read is not replaced, because the old log would no longer
    // fit the new key.
    pub fn open(store: Store, state: &Path) -> Result<Self, StoreError> {
        let file = state.join(KEY);
        let failed = |why: String| StoreError::LogKey { file: file.clone(), why };
        let pkcs8 = match fs::read_to_string(&file) {
            Ok(text) => STANDARD.decode(text.trim()).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = SigningKey::generate();
                let made = made.map_err(|_| failed("the system has no randomness".to_owned()))?;
                let text = format!("{}\n", STANDARD.encode(&made));
                private::write(&file, &text).map_err(|error| failed(error.to_string()))?;
                made
            }
            Err(error) => return Err(failed(error.to_string())),
        };
        let key = SigningKey::read(&pkcs8).ok_or_else(|| failed("it holds no key".to_owned()))?;
        let head = Mutex::new(known_head(state));
        Ok(Self { store, key: Arc::new(key), state: state.to_owned(), head })
    }

    /// The key that signs.
    #[must_use]
    pub fn key(&self) -> &SigningKey {
        &self.key
    }

    /// The public half of the key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.key.public()
    }

    /// Notes in the log if it does not contain the head that this daemon signed last.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn check_known(&self) -> Result<(), StoreError> {
        let mut known = self.head.lock().await;
        let Some(head) = known.clone() else { return Ok(()) };
        if self.store.has_head(&head).await? {
            return Ok(());
        }
        tracing::error!(%head, "the log does not contain what this daemon signed last: the store \
            was put back to an earlier state, or changed by somebody else");
        let data = json!({"count": head.count, "hash": head.hash});
        self.store.note(clock::now_ms(), "log_cut", None, &data).await?;
        *known = None;
        Ok(())
    }

    /// Seals everything that was committed.
    ///
    /// # Errors
    /// When the store fails; then it is sealed later.
    pub async fn seal(&self) -> Result<(), StoreError> {
        let mut known = self.head.lock().await;
        let mut newest = None;
        while let Some(head) = self.store.seal_log(&self.key).await? {
            newest = Some(head);
        }
        let Some(newest) = newest.filter(|new| known.as_ref() != Some(new)) else { return Ok(()) };
        let (file, text) = (self.state.join(HEAD), format!("{newest}\n"));
        // Synced to the disk, which takes a while.
        let written = tokio::task::spawn_blocking(move || private::write(&file, &text)).await;
        match written {
            Ok(Ok(())) => *known = Some(newest),
            Ok(Err(error)) => tracing::warn!(%error, "the head of the log was not written down"),
            Err(error) => tracing::warn!(%error, "the head of the log was not written down"),
        }
        Ok(())
    }

    /// Seals new events every second, until told to stop.
    pub async fn keep_sealed(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            if let Err(error) = self.seal().await {
                tracing::debug!(%error, "the log is sealed later");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(ROUND)).await;
        }
    }
}

/// The newest head that a daemon with this state folder signed, as far as its file tells.
#[must_use]
pub fn known_head(state: &Path) -> Option<LogHead> {
    fs::read_to_string(state.join(HEAD)).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::store::engines::on_both;
    use serde_json::Value;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn the_key_is_made_once_for_its_owner_alone_and_never_replaced() {
        on_both(async |store| {
            let state = tempfile::tempdir().unwrap();
            let first = LogSealer::open(store.clone(), state.path()).unwrap();
            let again = LogSealer::open(store.clone(), state.path()).unwrap();
            assert_eq!(first.public(), again.public());
            let file = state.path().join(KEY);
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            for broken in ["", "x", "AAAA"] {
                fs::write(&file, broken).unwrap();
                let error = LogSealer::open(store.clone(), state.path()).unwrap_err();
                assert!(matches!(error, StoreError::LogKey { .. }), "{broken:?}: {error}");
                assert_eq!(fs::read_to_string(&file).unwrap(), broken);
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_store_that_was_put_back_is_noted_in_its_log() {
        on_both(async |store| {
            let state = tempfile::tempdir().unwrap();
            store.note(1, "one", None, &Value::Null).await.unwrap();
            let sealer = LogSealer::open(store.clone(), state.path()).unwrap();
            sealer.seal().await.unwrap();
            let head = known_head(state.path()).unwrap();
            assert_eq!(head.count, 1);
            LogSealer::open(store.clone(), state.path()).unwrap().check_known().await.unwrap();
            assert_eq!(store.events_after(0, 9).await.unwrap().len(), 1, "it is all there");
            let lost = LogHead { count: 7, hash: "0".repeat(64) };
            fs::write(state.path().join(HEAD), lost.to_string()).unwrap();
            LogSealer::open(store.clone(), state.path()).unwrap().check_known().await.unwrap();
            let noted = store.events_after(0, 9).await.unwrap().pop().unwrap();
            let data = json!({"count": 7, "hash": lost.hash});
            assert_eq!((noted.kind.as_str(), noted.data), ("log_cut", data));
        })
        .await;
    }
}
