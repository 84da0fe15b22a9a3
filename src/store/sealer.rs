//! Seals the log: lets new events join the chain and signs it, with a key in the state folder.

use super::{
    Store, StoreError,
    log_key::{
        EVENT, KEY, KeyChange, KeyFile, KeyHistory, LogKeyProblem, file_problem, known_head,
        known_key, make_key, next_key_file, read_key, unexplained, write_head,
    },
};
use crate::{
    audit::{LogHead, PublicKey, SigningKey},
    clock,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// How often new events are sealed.
const ROUND: Duration = Duration::from_secs(1);

/// Seals the log of a store.
#[derive(Debug)]
pub struct LogSealer {
    store: Store,
    signing: StdMutex<Signing>,
    state: PathBuf,
    /// The newest head in the file. Held while sealing, so that the file never goes back, and while
    /// the key is replaced.
    head: Mutex<Option<LogHead>>,
}

/// What signs, and what is wrong with it.
#[derive(Debug)]
struct Signing {
    key: Arc<SigningKey>,
    /// The key is another one than before.
    changed: Option<LogKeyProblem>,
    /// Its file is not as it was read.
    file: Option<LogKeyProblem>,
}

impl LogSealer {
    /// Reads the key in this folder, or makes one where there is none.
    ///
    /// # Errors
    /// When the key cannot be read or written.
    // FAIL-CLOSED: a key that cannot be read is not replaced, because the old log would no longer
    // fit the new key. For one that is gone [`Self::check_key`] says so in the log.
    pub fn open(store: Store, state: &Path) -> Result<Self, StoreError> {
        let file = state.join(KEY);
        let failed = |why: String| StoreError::LogKey { file: file.clone(), why };
        let key = match read_key(state) {
            KeyFile::Holds(key) => key,
            KeyFile::Gone => make_key(&file).map_err(failed)?,
            KeyFile::Unusable(why) => return Err(failed(why)),
        };
        let signing = Signing { key: Arc::new(key), changed: None, file: None };
        let head = Mutex::new(known_head(state));
        Ok(Self { store, signing: StdMutex::new(signing), state: state.to_owned(), head })
    }

    /// The key that signs.
    #[must_use]
    pub fn key(&self) -> Arc<SigningKey> {
        self.signing().key.clone()
    }

    /// The public half of the key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.signing().key.public()
    }

    /// What is wrong with the key.
    #[must_use]
    pub fn problem(&self) -> Option<LogKeyProblem> {
        let signing = self.signing();
        signing.changed.clone().or_else(|| signing.file.clone())
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

    /// Compares the key with the one that signed before this start: that of the newest checkpoint,
    /// or on a store that several daemons sign the one that this daemon noted.
    ///
    /// # Errors
    /// When the store fails.
    // SECURITY: who replaces the key could write the log anew; who has to pin the new key has to
    // hear of it. The daemon goes on, because a lost file must not end all approvals.
    pub async fn check_key(&self) -> Result<(), StoreError> {
        let _sealing = self.head.lock().await;
        let (ours, noted) = (self.public(), known_key(&self.state));
        let newest = self.store.newest_signer().await?;
        let alone = newest.clone().filter(|_| !self.store.is_shared());
        let mut before = [noted.clone(), alone].into_iter().flatten();
        let before = before.rfind(|key| *key != ours.to_string());
        let history = self.store.key_history(&ours).await?;
        let problem = match (before, history) {
            (_, KeyHistory::Unexplained(was)) => Some(unexplained(&was, &ours)),
            (Some(_), KeyHistory::Meant) => None,
            (Some(was), KeyHistory::Replaced) => {
                self.note_key(KeyChange::Restored, &ours, Some(&was)).await?;
                tracing::warn!("the earlier key of the log was put back");
                None
            }
            (Some(was), KeyHistory::Unknown) => {
                self.note_key(KeyChange::Unexplained, &ours, Some(&was)).await?;
                Some(unexplained(&was, &ours))
            }
            (None, KeyHistory::Unknown) => {
                let joins = noted.is_none() && newest.is_some();
                if joins && !self.store.has_signer(&ours).await? {
                    self.note_key(KeyChange::Joined, &ours, None).await?;
                }
                None
            }
            (None, KeyHistory::Meant | KeyHistory::Replaced) => None,
        };
        if let Some(problem) = &problem {
            tracing::error!(fix = problem.fix, "{problem}");
        }
        self.signing().changed = problem;
        Ok(())
    }

    /// Looks whether the file still holds the key that signs, as at a reload; returns what is
    /// wrong with the key.
    pub async fn look_again(&self) -> Option<LogKeyProblem> {
        let ours = self.public();
        let problem = file_problem(&self.state, &ours);
        let before = std::mem::replace(&mut self.signing().file, problem.clone());
        if let Some(problem) = problem.filter(|now| before.as_ref() != Some(now)) {
            tracing::error!(fix = problem.fix, "{problem}");
            if let Err(error) = self.note_key(KeyChange::File, &ours, None).await {
                tracing::warn!(%error, "that is not in the log");
            }
        }
        self.problem()
    }

    /// Replaces the key: the old one signs that, and the new one signs from then on.
    ///
    /// # Errors
    /// When the store fails, or the new key cannot be written; then the old one goes on signing.
    // INVARIANT: the event with the new key is under a checkpoint of the old one, so who trusts
    // the old key can tell that its holder made the new one.
    pub async fn rotate(&self, by: &Value) -> Result<PublicKey, StoreError> {
        let mut known = self.head.lock().await;
        let (old, next) = (self.key(), next_key_file(&self.state));
        let failed = |why: String| StoreError::LogKey { file: self.state.join(KEY), why };
        // Written before anything says that it is the new one: a full disk changes nothing.
        let new = Arc::new(make_key(&next).map_err(failed)?);
        let mut data = KeyChange::Rotated.data(&new.public(), Some(&old.public().to_string()));
        if let Some(data) = data.as_object_mut() {
            data.insert("by".to_owned(), by.clone());
        }
        self.store.note(clock::now_ms(), EVENT, None, &data).await?;
        while let Some(head) = self.store.seal_log(&old).await? {
            *known = Some(head);
        }
        fs::rename(&next, self.state.join(KEY)).map_err(|error| failed(error.to_string()))?;
        if let Some(head) = &*known
            && let Err(error) = write_head(&self.state, head, &new.public())
        {
            tracing::warn!(%error, "the head of the log was not written down");
        }
        let public = new.public();
        *self.signing() = Signing { key: new, changed: None, file: None };
        tracing::warn!(key = %public, "the key of the log was rotated");
        Ok(public)
    }

    /// Accepts the key that signs, though nobody had said that it would change.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn accept(&self, by: &Value) -> Result<PublicKey, StoreError> {
        let _sealing = self.head.lock().await;
        let key = self.public();
        if let KeyHistory::Unexplained(was) = self.store.key_history(&key).await? {
            let mut data = KeyChange::Accepted.data(&key, Some(&was));
            if let Some(data) = data.as_object_mut() {
                data.insert("by".to_owned(), by.clone());
            }
            self.store.note(clock::now_ms(), EVENT, None, &data).await?;
            self.signing().changed = None;
        }
        Ok(key)
    }

    /// Seals everything that was committed.
    ///
    /// # Errors
    /// When the store fails; then it is sealed later.
    pub async fn seal(&self) -> Result<(), StoreError> {
        let mut known = self.head.lock().await;
        let (key, mut newest) = (self.key(), None);
        while let Some(head) = self.store.seal_log(&key).await? {
            newest = Some(head);
        }
        let Some(newest) = newest.filter(|new| known.as_ref() != Some(new)) else { return Ok(()) };
        let (state, head, public) = (self.state.clone(), newest.clone(), key.public());
        // Synced to the disk, which takes a while.
        let write = move || write_head(&state, &head, &public);
        let written = tokio::task::spawn_blocking(write).await;
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

    async fn note_key(
        &self,
        change: KeyChange,
        key: &PublicKey,
        was: Option<&str>,
    ) -> Result<(), StoreError> {
        self.store.note(clock::now_ms(), EVENT, None, &change.data(key, was)).await
    }

    fn signing(&self) -> MutexGuard<'_, Signing> {
        self.signing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
