//! Seals the log: lets new events join the chain and signs it, with a key in the state folder, where
//! the daemon also notes what it knows of the log.
//!
//! SECURITY: the database is what somebody else may write. The daemon seals only what continues
//! what it sealed itself, as it stands in its state folder.

use super::{
    Store, StoreError, Trouble,
    log::origin,
    sealing::{self, BROKEN, Forgetting, Round, forget_rows},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use countersign_domain::log::{LogHead, LogLine, PublicKey, SigningKey};
use countersign_tokens::{clock, file};
use serde_json::{Value, json};
use sqlx::Row;
use std::{
    collections::BTreeSet,
    fs, io,
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
    changed: Option<Trouble>,
    /// Its file is not as it was read.
    file: Option<Trouble>,
}

/// The file with the signing key, in the state folder.
// SECURITY: the folder is closed to other users, and the guardrail keeps agents out of it.
pub(super) const KEY: &str = "log.key";

/// The file with the key that it replaced.
const BEFORE: &str = "log.key.before";

/// The kind of events about the key.
pub(super) const EVENT: &str = "log_key";

/// How many of the newest events about keys are looked at; daemons that share a store have a few
/// each.
const LOOKED_AT: i64 = 200;

/// What the file of the key holds.
#[derive(Debug)]
pub(super) enum KeyFile {
    /// A key.
    Holds(Box<SigningKey>),
    /// There is no such file.
    Gone,
    /// It cannot be used.
    Unusable(String),
}

/// Why a daemon signs with the key that it has, as an event of the log says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyChange {
    /// Nobody said that it would change.
    Unexplained,
    /// An approver rotated it.
    Rotated,
    /// An approver accepted a change that nobody had explained.
    Accepted,
    /// The key of before such a change was put back.
    Restored,
    /// A daemon began to sign a log that others share.
    Joined,
    /// The file is not as it was read at the start; the key of then goes on signing.
    File,
}

/// What the newest event about a key says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyHistory {
    /// Nothing.
    Unknown,
    /// It is meant to sign.
    Meant,
    /// It replaced this key, and nobody said why.
    Unexplained(String),
    /// Another key replaced it, and nobody said why.
    Replaced,
}

const PUT_BACK: &str = "put it back from a backup, or let the running daemon make another one: \
                        countersign log key --rotate";

/// The file in the state folder.
const HEAD: &str = "log.head";

/// What a daemon knows of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LogState {
    /// The store of which it is the log.
    pub(super) store: String,
    /// Where the log ended when it was sealed last.
    pub(super) head: Option<LogHead>,
    /// Where it began then: the last row that was forgotten, and its hash.
    pub(super) forgotten: Option<LogHead>,
    /// The keys that signed it beside this daemon's: its earlier ones, and those of other daemons.
    pub(super) keys: BTreeSet<PublicKey>,
    /// What is wrong with the log, since it was found first.
    pub(super) broken: Option<LogBreak>,
}

/// Something that is wrong with the log, and stays so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBreak {
    /// The row at which it was found.
    pub row: i64,
    /// When, in Unix milliseconds.
    pub at: i64,
    /// What is wrong, in one sentence.
    pub says: String,
    /// An approver has seen it: it is no alarm any more.
    pub accepted: bool,
}

/// What the file of the state holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StateFile {
    /// There is none.
    Gone,
    /// What a daemon with this key wrote.
    Holds(LogState, PublicKey),
    /// Not what a daemon wrote.
    Unusable,
}

impl Store {
    /// The key of the newest checkpoint.
    async fn newest_signer(&self) -> Result<Option<String>, StoreError> {
        let newest = "SELECT key FROM log_checkpoint ORDER BY seq DESC LIMIT 1";
        self.value(sqlx::query(newest)).await
    }

    /// Whether this key ever signed, as far as checkpoints are kept.
    async fn has_signer(&self, key: &PublicKey) -> Result<bool, StoreError> {
        let signed = "SELECT 1 AS one FROM log_checkpoint WHERE key = $1 LIMIT 1";
        Ok(self.maybe(sqlx::query(signed).bind(key.to_string())).await?.is_some())
    }

    /// What the newest event about this key says of it.
    async fn key_history(&self, key: &PublicKey) -> Result<KeyHistory, StoreError> {
        let about = "SELECT data FROM event WHERE kind = $1 ORDER BY id DESC LIMIT $2";
        let rows = self.all(sqlx::query(about).bind(EVENT).bind(LOOKED_AT)).await?;
        let key = key.to_string();
        for row in &rows {
            let data: Value =
                serde_json::from_str(&row.try_get::<String, _>("data")?).unwrap_or_default();
            let text = |name: &str| data.get(name).and_then(Value::as_str);
            let unexplained = text("how") == Some(KeyChange::Unexplained.word());
            match (text("key") == Some(&key), text("was") == Some(&key)) {
                (true, _) if unexplained => {
                    let was = text("was").unwrap_or_default().to_owned();
                    return Ok(KeyHistory::Unexplained(was));
                }
                (true, _) => return Ok(KeyHistory::Meant),
                (_, true) if unexplained => return Ok(KeyHistory::Replaced),
                // Rotated away: its return is no plan of anybody's.
                (_, true) => return Ok(KeyHistory::Unknown),
                (false, false) => {}
            }
        }
        Ok(KeyHistory::Unknown)
    }
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
    // FAIL-CLOSED: a daemon that signed this log and does not know where it ended says so.
    pub async fn check_known(&self) -> Result<(), StoreError> {
        let mut known = self.known.lock().await;
        let store = self.store.id().to_owned();
        let fresh = LogState { store: store.clone(), ..LogState::default() };
        let lost = |says: &str| {
            let says = says.to_owned();
            Some(LogBreak { row: 0, at: clock::now_ms(), says, accepted: false })
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
                    "log.head is missing from the state folder, so it is unknown whether the log \
                     was cut off or written anew",
                ),
                ..fresh
            },
            StateFile::Gone => fresh,
            StateFile::Unusable => LogState {
                broken: lost("log.head in the state folder is not as the daemon wrote it"),
                ..fresh
            },
        };
        let before = known.broken.clone();
        let said = known.head.is_some();
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
    pub fn problem(&self) -> Option<Trouble> {
        let signing = self.signing();
        signing.changed.clone().or_else(|| signing.file.clone())
    }

    /// Compares the key with the one that signed before this start: that of the newest checkpoint,
    /// or on a store that several daemons sign the one that this daemon noted.
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
            tracing::error!(fix = problem.fix, "{}", problem.says);
        }
        self.signing().changed = problem;
        Ok(())
    }

    /// Looks whether the file still holds the key that signs, as at a reload; returns what is
    /// wrong with the key.
    pub async fn look_again(&self) -> Option<Trouble> {
        let ours = self.public();
        let problem = file_problem(&self.state, &ours);
        let before = std::mem::replace(&mut self.signing().file, problem.clone());
        if let Some(problem) = problem.filter(|now| before.as_ref() != Some(now)) {
            tracing::error!(fix = problem.fix, "{}", problem.says);
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
        let old = self.key();
        let next = next_key_file(&self.state);
        let failed = |why: String| StoreError::LogKey { file: self.state.join(KEY), why };
        // Written before anything says that it is the new one: a full disk changes nothing.
        let new = Arc::new(make_key(&next).map_err(failed)?);
        let was = old.public().to_string();
        let data = KeyChange::Rotated.data_by(&new.public(), &was, by);
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
    pub async fn accept(&self, by: &Value) -> Result<PublicKey, StoreError> {
        let mut known = self.known.lock().await;
        let key = self.public();
        if let KeyHistory::Unexplained(was) = self.store.key_history(&key).await? {
            let data = KeyChange::Accepted.data_by(&key, &was, by);
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
        let state = self.state.clone();
        let known = known.clone();
        let key = self.key();
        // Synced to the disk, which takes a while.
        let written = tokio::task::spawn_blocking(move || known.write(&state, &key)).await;
        if let Err(error) = written.unwrap_or_else(|error| Err(io::Error::other(error))) {
            tracing::warn!(%error, "the head of the log was not written down");
        }
    }

    /// Looks through a further page of the sealed rows, around and around: what somebody changes
    /// there is an alarm soon, and not only once somebody verifies the log.
    pub async fn look_through(&self) -> Result<(), StoreError> {
        let known = self.known.lock().await.clone();
        let (Some(head), Some(begin)) = (&known.head, &known.forgotten) else { return Ok(()) };
        let from = self.looking.lock().unwrap_or_else(PoisonError::into_inner).take();
        let from = from.filter(|from| from.count >= begin.count && from.count < head.count);
        let from = from.unwrap_or_else(|| begin.clone());
        let page = self.store.log_page(from.count, None).await?;
        let Some(page) = page else { return Ok(()) };
        let mut last = from;
        let mut changed = None;
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

impl KeyChange {
    fn word(self) -> &'static str {
        match self {
            Self::Unexplained => "unexplained",
            Self::Rotated => "rotated",
            Self::Accepted => "accepted",
            Self::Restored => "restored",
            Self::Joined => "joined",
            Self::File => "file",
        }
    }

    /// The data of its event.
    pub(super) fn data(self, key: &PublicKey, was: Option<&str>) -> Value {
        json!({"key": key.to_string(), "was": was, "how": self.word()})
    }

    /// The same where an approver did it.
    fn data_by(self, key: &PublicKey, was: &str, by: &Value) -> Value {
        json!({"key": key.to_string(), "was": was, "how": self.word(), "by": by})
    }
}

/// Reads the key of this state folder.
pub(super) fn read_key(state: &Path) -> KeyFile {
    read_key_in(&state.join(KEY))
}

/// Reads the key that this one replaced.
fn read_key_before(state: &Path) -> Option<SigningKey> {
    match read_key_in(&state.join(BEFORE)) {
        KeyFile::Holds(key) => Some(*key),
        KeyFile::Gone | KeyFile::Unusable(_) => None,
    }
}

/// Keeps the key that is about to be replaced: rows that it proved may not be sealed yet.
fn keep_key(state: &Path) -> io::Result<()> {
    // A file that is gone cannot be kept; that is a problem of its own.
    file::read(&state.join(KEY))?.map_or(Ok(()), |text| file::replace(&state.join(BEFORE), text))
}

/// Deletes the key that was replaced: nothing that it proved is left to be sealed.
fn forget_key_before(state: &Path) {
    let _ = fs::remove_file(state.join(BEFORE));
}

fn read_key_in(file: &Path) -> KeyFile {
    let text = match file::read(file) {
        Ok(Some(text)) => text,
        Ok(None) => return KeyFile::Gone,
        Err(error) => return KeyFile::Unusable(error.to_string()),
    };
    match STANDARD.decode(text.trim()).map(|pkcs8| SigningKey::read(&pkcs8)) {
        Ok(Some(key)) => KeyFile::Holds(Box::new(key)),
        Ok(None) => KeyFile::Unusable("it holds no key".to_owned()),
        Err(error) => KeyFile::Unusable(error.to_string()),
    }
}

/// Makes a key and writes it to this file.
fn make_key(file: &Path) -> Result<SigningKey, String> {
    let made = SigningKey::generate();
    let made = made.map_err(|_| "the system has no randomness".to_owned())?;
    let text = format!("{}\n", STANDARD.encode(&made));
    file::replace(file, text).map_err(|error| error.to_string())?;
    SigningKey::read(&made).ok_or_else(|| "it holds no key".to_owned())
}

/// The file of a key that is about to replace the one of this folder.
fn next_key_file(state: &Path) -> PathBuf {
    state.join("log.key.next")
}

/// What is wrong with the key of this folder, as its files alone tell.
#[must_use]
pub fn log_key_problem(state: &Path) -> Option<Trouble> {
    let known = known_key(state);
    let signed = known.is_some() || known_head(state).is_some();
    match read_key(state) {
        KeyFile::Holds(key) => match known {
            Some(known) if known != key.public() => Some(other_key(state)),
            _ => None,
        },
        KeyFile::Gone if signed => {
            Some(key_file(state, "is missing, with which the log was signed"))
        }
        KeyFile::Gone => None,
        KeyFile::Unusable(why) => Some(key_file(state, &format!("cannot be used: {why}"))),
    }
}

fn other_key(state: &Path) -> Trouble {
    key_file(state, "holds another key than the one that signed the log")
}

fn key_file(state: &Path, says: &str) -> Trouble {
    let says = format!("{} {says}", state.join(KEY).display());
    Trouble { says, fix: PUT_BACK.to_owned() }
}

/// What the file says while this key signs.
fn file_problem(state: &Path, signs: &PublicKey) -> Option<Trouble> {
    match read_key(state) {
        KeyFile::Holds(key) if key.public() == *signs => None,
        KeyFile::Holds(_) => Some(other_key(state)),
        KeyFile::Gone => {
            let gone = "is gone; the daemon signs with the key that it read at its start";
            Some(key_file(state, gone))
        }
        KeyFile::Unusable(_) => log_key_problem(state),
    }
}

/// That the key changed and nobody said why.
fn unexplained(was: &str, now: &PublicKey) -> Trouble {
    let short = |key: &str| key.chars().take(16).collect::<String>();
    Trouble {
        says: format!(
            "the key of the log changed, and nobody rotated it: {}… signed before, {}… signs now",
            short(was),
            short(&now.to_string())
        ),
        fix: "put the earlier log.key back from a backup and start again, or, if you know why it \
              changed: countersign log key --accept"
            .to_owned(),
    }
}

impl LogState {
    /// Reads the file of this folder.
    // FAIL-CLOSED: a file that was changed is not followed.
    pub(super) fn read(state: &Path) -> StateFile {
        let text = match file::read(&state.join(HEAD)) {
            Ok(Some(text)) => text,
            Ok(None) => return StateFile::Gone,
            Err(_) => return StateFile::Unusable,
        };
        match parsed(&text) {
            Some((known, key)) => StateFile::Holds(known, key),
            None => StateFile::Unusable,
        }
    }

    /// Writes it to the file of this folder, signed.
    pub(super) fn write(&self, state: &Path, key: &SigningKey) -> io::Result<()> {
        let text = self.text(&key.public());
        let signature = key.sign(&signed(&text));
        file::replace(&state.join(HEAD), format!("{text}signed {signature}\n"))
    }

    fn text(&self, key: &PublicKey) -> String {
        let Self { store, head, forgotten, keys, broken } = self;
        let head = head.as_ref().map(ToString::to_string).unwrap_or_default();
        let mut text = format!("{head}\n{key}\nstore {store}\n");
        if let Some(forgotten) = forgotten {
            text.push_str(&format!("forgotten {forgotten}\n"));
        }
        for key in keys {
            text.push_str(&format!("also {key}\n"));
        }
        if let Some(LogBreak { row, at, says, accepted }) = broken {
            let how = if *accepted { "accepted" } else { "broken" };
            text.push_str(&format!("{how} {row} {at} {}\n", says.replace('\n', " ")));
        }
        text
    }
}

/// The newest head that a daemon with this state folder signed, as far as its file tells.
#[must_use]
pub fn known_head(state: &Path) -> Option<LogHead> {
    fs::read_to_string(state.join(HEAD)).ok()?.lines().next()?.parse().ok()
}

/// The key with which a daemon with this state folder signed last, as far as its file tells.
fn known_key(state: &Path) -> Option<PublicKey> {
    fs::read_to_string(state.join(HEAD)).ok()?.lines().nth(1)?.parse().ok()
}

fn signed(text: &str) -> Vec<u8> {
    format!("countersign log state 1\n{text}").into_bytes()
}

fn parsed(text: &str) -> Option<(LogState, PublicKey)> {
    let (text, signature) = text.strip_suffix('\n')?.rsplit_once("\nsigned ")?;
    let text = format!("{text}\n");
    let mut lines = text.lines();
    let head = lines.next()?;
    let key = lines.next()?;
    let key: PublicKey = key.parse().ok()?;
    if !key.verifies(&signed(&text), signature) {
        return None;
    }
    let head = if head.is_empty() { None } else { Some(head.parse().ok()?) };
    let mut known = LogState { head, ..LogState::default() };
    for line in lines {
        match line.split_once(' ')? {
            ("store", id) => id.clone_into(&mut known.store),
            ("forgotten", head) => known.forgotten = Some(head.parse().ok()?),
            ("also", key) => drop(known.keys.insert(key.parse().ok()?)),
            (how @ ("broken" | "accepted"), rest) => {
                let mut parts = rest.splitn(3, ' ');
                let row = parts.next()?.parse().ok()?;
                let at = parts.next()?.parse().ok()?;
                let says = parts.next()?.to_owned();
                let accepted = how == "accepted";
                known.broken = Some(LogBreak { row, at, says, accepted });
            }
            _ => return None,
        }
    }
    Some((known, key))
}

#[cfg(test)]
mod tests;
