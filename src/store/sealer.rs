//! Seals the log: lets new events join the chain and signs it, with a key in the state folder.

use super::{
    Store, StoreError,
    chain::origin,
    log_key::{
        EVENT, KEY, KeyChange, KeyFile, KeyHistory, LogKeyProblem, file_problem, forget_key_before,
        keep_key, make_key, next_key_file, read_key, read_key_before, unexplained,
    },
    log_state::{LogBreak, LogState, StateFile, known_key},
    retention::{Forgetting, forget_rows},
    sealing::{self, BROKEN, Round},
};
use countersign_domain::log::{LogHead, LogLine, PublicKey, SigningKey};
use countersign_tokens::clock;
use serde_json::{Value, json};
use sqlx::Row;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Mutex, time::Instant};
use tokio_util::sync::CancellationToken;

/// How often new events are sealed.
const ROUND: Duration = Duration::from_secs(1);
/// How many rounds pass between two times that old rows are forgotten.
const FORGOTTEN: u32 = 30;
/// The first of these rounds after the start.
const SOON: u32 = 5;

/// How long after its start a daemon still finds rows of its earlier run.
const EARLIER: Duration = Duration::from_secs(60);
/// How many rounds pass between two pages of the log that are looked through again.
const LOOKED: u32 = 10;
/// How much longer rows are kept that a destination has not taken, in milliseconds.
const UNDELIVERED_MS: i64 = 7 * 86_400_000;
/// Rows are kept for so long at least: other daemons follow them, and readers come back to them.
/// Also they are forgotten by so much at once, because each time adds a row.
const LEAST_KEPT_MS: i64 = 3_600_000;
/// Between two pages of what is forgotten, so that nothing else waits for it.
const BREATH: Duration = Duration::from_millis(20);

/// Seals the log of a store.
#[derive(Debug)]
pub struct LogSealer {
    store: Store,
    signing: StdMutex<Signing>,
    state: PathBuf,
    /// What is known of the log. Held while sealing, so that the file never goes back, and while
    /// the key is replaced.
    known: Mutex<LogState>,
    started: Instant,
    /// Where the log is looked through again.
    looking: StdMutex<Option<LogHead>>,
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
    /// Reads the key in this folder, or makes one where there is none. From then on it proves what
    /// the store writes to the log.
    ///
    /// # Errors
    /// When the key cannot be read or written.
    // FAIL-CLOSED: a key that cannot be read is not replaced, because the old log would no longer
    // fit the new key. For one that is gone [`Self::check_key`] says so in the log.
    pub fn open(store: Store, state: &Path) -> Result<Self, StoreError> {
        let file = state.join(KEY);
        let failed = |why: String| StoreError::LogKey { file: file.clone(), why };
        let key = match read_key(state) {
            KeyFile::Holds(key) => *key,
            KeyFile::Gone => make_key(&file).map_err(failed)?,
            KeyFile::Unusable(why) => return Err(failed(why)),
        };
        let key = Arc::new(key);
        store.engine.rows.prove_with(key.clone());
        if let Some(before) = read_key_before(state) {
            store.engine.rows.know(before);
        }
        let signing = Signing { key, changed: None, file: None };
        Ok(Self {
            store,
            signing: StdMutex::new(signing),
            state: state.to_owned(),
            known: Mutex::default(),
            started: Instant::now(),
            looking: StdMutex::default(),
        })
    }

    /// Compares the log with what this daemon knows of it, and seals what an earlier run left.
    ///
    /// # Errors
    /// When the store fails.
    // FAIL-CLOSED: a daemon that signed this log and does not know where it ended says so.
    pub async fn check_known(&self) -> Result<(), StoreError> {
        let mut known = self.known.lock().await;
        let store = self.store.id().to_owned();
        let fresh = LogState { store: store.clone(), ..LogState::default() };
        let lost = |says: &str| {
            let (row, at, says) = (0, clock::now_ms(), says.to_owned());
            Some(LogBreak { row, at, says, accepted: false })
        };
        *known = match LogState::read(&self.state) {
            StateFile::Holds(state, key) if state.store == store => {
                let mut state = state;
                if key != self.public() {
                    state.keys.insert(key);
                }
                state
            }
            // Of a store that this one replaced, which the operator asked for.
            StateFile::Holds(..) => fresh,
            StateFile::Gone if self.store.has_signer(&self.public()).await? => LogState {
                broken: lost(
                    "log.head is gone from the state folder, which says where the log \
                    ended: nobody can tell whether it was cut off or written anew",
                ),
                ..fresh
            },
            StateFile::Gone => fresh,
            StateFile::Unusable => LogState {
                broken: lost("log.head in the state folder is not as the daemon wrote it"),
                ..fresh
            },
        };
        let (before, said) = (known.broken.clone(), known.head.is_some());
        self.seal_all(&mut known).await?;
        if let (Some(broken), false) = (before, said) {
            tracing::error!(says = broken.says, "the log may be broken");
            let data = json!({"row": broken.row, "says": broken.says});
            self.store.note(clock::now_ms(), BROKEN, None, &data).await?;
            self.seal_all(&mut known).await?;
        }
        Ok(())
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

    /// Compares the key with the one that signed before this start: that of the newest checkpoint,
    /// or on a store that several daemons sign the one that this daemon noted.
    ///
    /// # Errors
    /// When the store fails.
    // SECURITY: who replaces the key could write the log anew; who has to pin the new key has to
    // hear of it. The daemon goes on, because a lost file must not end all approvals.
    pub async fn check_key(&self) -> Result<(), StoreError> {
        let _sealing = self.known.lock().await;
        let ours = self.public();
        let noted = known_key(&self.state).map(|key| key.to_string());
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
        let mut known = self.known.lock().await;
        let (old, next) = (self.key(), next_key_file(&self.state));
        let failed = |why: String| StoreError::LogKey { file: self.state.join(KEY), why };
        // Written before anything says that it is the new one: a full disk changes nothing.
        let new = Arc::new(make_key(&next).map_err(failed)?);
        let mut data = KeyChange::Rotated.data(&new.public(), Some(&old.public().to_string()));
        if let Some(data) = data.as_object_mut() {
            data.insert("by".to_owned(), by.clone());
        }
        self.store.note(clock::now_ms(), EVENT, None, &data).await?;
        self.seal_all(&mut known).await?;
        // Rows that the old key proves may be written until the new one does.
        keep_key(&self.state).map_err(|error| failed(error.to_string()))?;
        fs::rename(&next, self.state.join(KEY)).map_err(|error| failed(error.to_string()))?;
        known.keys.insert(old.public());
        self.store.engine.rows.prove_with(new.clone());
        if let Err(error) = known.write(&self.state, &new) {
            tracing::warn!(%error, "the head of the log was not written down");
        }
        let public = new.public();
        *self.signing() = Signing { key: new, changed: None, file: None };
        tracing::warn!(key = %public, "the key of the log was rotated");
        Ok(public)
    }

    /// Accepts the key that signs, though nobody had said that it would change; and that the log
    /// is broken, which it stays.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn accept(&self, by: &Value) -> Result<PublicKey, StoreError> {
        let mut known = self.known.lock().await;
        let key = self.public();
        if let KeyHistory::Unexplained(was) = self.store.key_history(&key).await? {
            let mut data = KeyChange::Accepted.data(&key, Some(&was));
            if let Some(data) = data.as_object_mut() {
                data.insert("by".to_owned(), by.clone());
            }
            self.store.note(clock::now_ms(), EVENT, None, &data).await?;
            self.signing().changed = None;
        }
        if let Some(broken) = known.broken.clone().filter(|broken| !broken.accepted) {
            let data = json!({"row": broken.row, "says": broken.says, "by": by});
            self.store.note(clock::now_ms(), "log_accepted", None, &data).await?;
            known.broken = Some(LogBreak { accepted: true, ..broken });
            self.noted(&known).await;
        }
        Ok(key)
    }

    /// Seals everything that was committed.
    ///
    /// # Errors
    /// When the store fails; then it is sealed later.
    pub async fn seal(&self) -> Result<(), StoreError> {
        let mut known = self.known.lock().await;
        // A read first: most rounds find nothing, and would otherwise cost a write transaction.
        if self.is_sealed(&known).await? {
            return Ok(());
        }
        self.seal_all(&mut known).await
    }

    /// Whether the chain ends as this daemon knows, signed, and nothing waits to join it.
    async fn is_sealed(&self, known: &LogState) -> Result<bool, StoreError> {
        let end = "SELECT count, hash, forgotten, \
             (SELECT max(seq) FROM log_checkpoint) AS signed, \
             (SELECT min(id) FROM event WHERE seq IS NULL) AS new FROM log_end WHERE id = 1";
        let Some(end) = self.store.maybe(sqlx::query(end)).await? else { return Ok(false) };
        let (new, signed): (Option<i64>, Option<i64>) =
            (end.try_get("new")?, end.try_get("signed")?);
        let count: i64 = end.try_get("count")?;
        let head = LogHead { count, hash: origin(&known.store, end.try_get("hash")?) };
        let forgotten: i64 = end.try_get("forgotten")?;
        Ok(new.is_none()
            && signed.unwrap_or_default() == count
            && known.head.as_ref() == Some(&head)
            && known.forgotten.as_ref().is_some_and(|known| known.count == forgotten)
            && self.store.engine.rows.unsealed().is_empty())
    }

    async fn seal_all(&self, known: &mut LogState) -> Result<(), StoreError> {
        let mut round = self.round(known);
        loop {
            let store = &self.store;
            let done = store.write(move |tx| {
                Box::pin(async move {
                    sealing::seal(tx, &mut round).await?;
                    Ok(round)
                })
            });
            round = done.await?;
            self.store.engine.rows.settled(&round.sealed);
            self.take_over(known, &round.known).await;
            if !round.more {
                return Ok(());
            }
        }
    }

    /// Forgets rows that are older than `keep_ms`; those that a destination has not taken wait
    /// some days longer.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self, keep_ms: i64) -> Result<(), StoreError> {
        let keep_ms = keep_ms.max(LEAST_KEPT_MS);
        let before = (clock::now_ms() - keep_ms).div_euclid(LEAST_KEPT_MS) * LEAST_KEPT_MS;
        while self.forget_before(before, keep_ms).await? > 0 {
            tokio::time::sleep(BREATH).await;
        }
        Ok(())
    }

    /// Forgets some rows from before a time, oldest first; returns how many. There may be more as
    /// long as the result is not 0.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn forget_before(
        &self,
        before: i64,
        keep_ms: i64,
    ) -> Result<usize, StoreError> {
        // A read first: most calls find nothing, and would otherwise cost a write transaction each.
        let old = sqlx::query("SELECT 1 AS one FROM event WHERE at < $1 AND seq > 0 LIMIT 1");
        if self.store.maybe(old.bind(before)).await?.is_none() {
            return Ok(0);
        }
        let taken = self.store.log_taken().await?;
        let long_before = before.saturating_sub(UNDELIVERED_MS);
        let forgetting = Forgetting { keep_ms, before, taken, long_before };
        let mut known = self.known.lock().await;
        let mut round = self.round(&known);
        let done = self.store.write(move |tx| {
            Box::pin(async move {
                let forgotten = forget_rows(tx, &mut round, forgetting).await?;
                sealing::report(tx, &mut round).await?;
                Ok((round, forgotten))
            })
        });
        let (round, forgotten) = done.await?;
        self.store.engine.rows.settled(&round.sealed);
        self.take_over(&mut known, &round.known).await;
        Ok(forgotten)
    }

    fn round(&self, known: &LogState) -> Round {
        let engine = &self.store.engine;
        let earlier = self.started.elapsed() < EARLIER;
        let rows = (self.key(), engine.rows.clone());
        Round::new(rows, (self.store.is_shared(), earlier), known.clone())
    }

    /// Goes by what is known now, and writes it down if it changed.
    async fn take_over(&self, known: &mut LogState, now: &LogState) {
        if known != now {
            known.clone_from(now);
            self.noted(known).await;
        }
    }

    /// Writes down what is known.
    async fn noted(&self, known: &LogState) {
        self.store.engine.rows.condition().broken.clone_from(&known.broken);
        let (state, known, key) = (self.state.clone(), known.clone(), self.key());
        // Synced to the disk, which takes a while.
        let written = tokio::task::spawn_blocking(move || known.write(&state, &key)).await;
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the head of the log was not written down"),
            Err(error) => tracing::warn!(%error, "the head of the log was not written down"),
        }
    }

    /// Looks through a further page of the sealed rows, around and around: what somebody changes
    /// there is an alarm soon, and not only once somebody verifies the log.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn look_through(&self) -> Result<(), StoreError> {
        let known = self.known.lock().await.clone();
        let (Some(head), Some(begin)) = (&known.head, &known.forgotten) else { return Ok(()) };
        let from = self.looking.lock().unwrap_or_else(PoisonError::into_inner).take();
        let from = from.filter(|from| from.count >= begin.count && from.count < head.count);
        let from = from.unwrap_or_else(|| begin.clone());
        let page = self.store.log_page(from.count, None).await?;
        let Some(page) = page else { return Ok(()) };
        let (mut last, mut changed) = (from, None);
        for line in &page.lines {
            let LogLine::Row(row, hash) = line else { continue };
            if row.seq > head.count {
                break;
            }
            if row.seq != last.count + 1 || row.hash(&last.hash) != *hash {
                changed = Some(last.count + 1);
                break;
            }
            last = LogHead { count: row.seq, hash: hash.clone() };
        }
        let begun = LogHead { count: page.header.forgotten, hash: page.header.origin };
        let Some(row) = changed.filter(|_| begun == *begin) else {
            *self.looking.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
            return Ok(());
        };
        let mut known = self.known.lock().await;
        // Once: it stays so, and the rows behind it are not worth more than a verification.
        if known.broken.is_none() {
            let says = format!("row {row} was changed or deleted");
            let mut round = self.round(&known);
            round.broke(row, says);
            let done = self.store.write(move |tx| {
                Box::pin(async move {
                    sealing::report(tx, &mut round).await?;
                    Ok(round)
                })
            });
            let round = done.await?;
            self.take_over(&mut known, &round.known).await;
        }
        Ok(())
    }

    /// Seals new events every second, until told to stop; forgets what is old, and looks through
    /// the rest.
    pub async fn keep_sealed(&self, keep_ms: impl Fn() -> i64, stop: CancellationToken) {
        let mut round = 0_u32;
        while !stop.is_cancelled() {
            let sealed = self.seal().await;
            if let Err(error) = &sealed {
                tracing::debug!(%error, "the log is sealed later");
            }
            self.failed(sealed.err());
            round = round.wrapping_add(1);
            let more = async {
                if round.is_multiple_of(LOOKED) {
                    self.look_through().await?;
                }
                // Not at once: by then it is noted which destinations are wanted.
                if round % FORGOTTEN == SOON {
                    self.forget(keep_ms()).await?;
                }
                Ok::<_, StoreError>(())
            };
            if let Some(Err(error)) = stop.run_until_cancelled(more).await {
                tracing::debug!(%error, "the log is looked through later");
            }
            if self.started.elapsed() >= EARLIER {
                forget_key_before(&self.state);
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(ROUND)).await;
        }
    }

    fn failed(&self, error: Option<StoreError>) {
        let mut condition = self.store.engine.rows.condition();
        condition.failing = error.map(|error| {
            let since = condition.failing.as_ref().map_or_else(Instant::now, |(since, _)| *since);
            (since, error.to_string())
        });
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
