//! The file of the key that signs the log, and the note which key signed last.

use super::{
    Store, StoreError,
    log_state::{known_head, known_key},
    private,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use countersign_domain::log::{PublicKey, SigningKey};
use serde_json::{Value, json};
use sqlx::Row;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

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

/// What is wrong with the key that signs the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{says}")]
pub struct LogKeyProblem {
    /// What is wrong, in one sentence.
    pub says: String,
    /// How to fix it.
    pub fix: &'static str,
}

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
}

/// What the newest event about a key says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyHistory {
    /// Nothing.
    Unknown,
    /// It is meant to sign.
    Meant,
    /// It replaced this key, and nobody said why.
    Unexplained(String),
    /// Another key replaced it, and nobody said why.
    Replaced,
}

/// Reads the key of this state folder.
pub(super) fn read_key(state: &Path) -> KeyFile {
    read_key_in(&state.join(KEY))
}

/// Reads the key that this one replaced.
pub(super) fn read_key_before(state: &Path) -> Option<SigningKey> {
    match read_key_in(&state.join(BEFORE)) {
        KeyFile::Holds(key) => Some(*key),
        KeyFile::Gone | KeyFile::Unusable(_) => None,
    }
}

/// Keeps the key that is about to be replaced: rows that it proved may not be sealed yet.
pub(super) fn keep_key(state: &Path) -> io::Result<()> {
    let text = match fs::read_to_string(state.join(KEY)) {
        Ok(text) => text,
        // A file that is gone cannot be kept; that is a problem of its own.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    private::write(&state.join(BEFORE), &text)
}

/// Deletes the key that was replaced: nothing that it proved is left to be sealed.
pub(super) fn forget_key_before(state: &Path) {
    let _ = fs::remove_file(state.join(BEFORE));
}

fn read_key_in(file: &Path) -> KeyFile {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return KeyFile::Gone,
        Err(error) => return KeyFile::Unusable(error.to_string()),
    };
    match STANDARD.decode(text.trim()).map(|pkcs8| SigningKey::read(&pkcs8)) {
        Ok(Some(key)) => KeyFile::Holds(Box::new(key)),
        Ok(None) => KeyFile::Unusable("it holds no key".to_owned()),
        Err(error) => KeyFile::Unusable(error.to_string()),
    }
}

/// Makes a key and writes it to this file.
pub(super) fn make_key(file: &Path) -> Result<SigningKey, String> {
    let made = SigningKey::generate();
    let made = made.map_err(|_| "the system has no randomness".to_owned())?;
    let text = format!("{}\n", STANDARD.encode(&made));
    private::write(file, &text).map_err(|error| error.to_string())?;
    SigningKey::read(&made).ok_or_else(|| "it holds no key".to_owned())
}

/// The file of a key that is about to replace the one of this folder.
pub(super) fn next_key_file(state: &Path) -> PathBuf {
    state.join("log.key.next")
}

/// What is wrong with the key of this folder, as its files alone tell.
#[must_use]
pub fn log_key_problem(state: &Path) -> Option<LogKeyProblem> {
    let known = known_key(state);
    let signed = known.is_some() || known_head(state).is_some();
    match read_key(state) {
        KeyFile::Holds(key) => match known {
            Some(known) if known != key.public() => Some(other_key(state)),
            _ => None,
        },
        KeyFile::Gone if signed => Some(LogKeyProblem {
            says: format!("{} is gone, with which the log was signed", state.join(KEY).display()),
            fix: PUT_BACK,
        }),
        KeyFile::Gone => None,
        KeyFile::Unusable(why) => Some(LogKeyProblem {
            says: format!("{} cannot be used: {why}", state.join(KEY).display()),
            fix: PUT_BACK,
        }),
    }
}

const PUT_BACK: &str = "put it back from a backup, or let the running daemon make another one: \
                        countersign log key --rotate";

fn other_key(state: &Path) -> LogKeyProblem {
    let file = state.join(KEY);
    let says = format!("{} holds another key than the one that signed the log", file.display());
    LogKeyProblem { says, fix: PUT_BACK }
}

/// What the file says while this key signs.
pub(super) fn file_problem(state: &Path, signs: &PublicKey) -> Option<LogKeyProblem> {
    match read_key(state) {
        KeyFile::Holds(key) if key.public() == *signs => None,
        KeyFile::Holds(_) => Some(other_key(state)),
        KeyFile::Gone => Some(LogKeyProblem {
            says: format!(
                "{} is gone; the daemon signs with the key that it read at its start",
                state.join(KEY).display()
            ),
            fix: PUT_BACK,
        }),
        KeyFile::Unusable(_) => log_key_problem(state),
    }
}

/// That the key changed and nobody said why.
pub(super) fn unexplained(was: &str, now: &PublicKey) -> LogKeyProblem {
    let short = |key: &str| key.chars().take(16).collect::<String>();
    LogKeyProblem {
        says: format!(
            "the key of the log changed, and nobody rotated it: {}… signed before, {}… signs now",
            short(was),
            short(&now.to_string())
        ),
        fix: "put the earlier log.key back from a backup and start again, or, if you know why it \
              changed: countersign log key --accept",
    }
}

impl Store {
    /// The key of the newest checkpoint.
    pub(super) async fn newest_signer(&self) -> Result<Option<String>, StoreError> {
        let newest = "SELECT key FROM log_checkpoint ORDER BY seq DESC LIMIT 1";
        let newest = self.maybe(sqlx::query(newest)).await?;
        Ok(newest.map(|row| row.try_get("key")).transpose()?)
    }

    /// Whether this key ever signed, as far as checkpoints are kept.
    pub(super) async fn has_signer(&self, key: &PublicKey) -> Result<bool, StoreError> {
        let signed = "SELECT 1 AS one FROM log_checkpoint WHERE key = $1 LIMIT 1";
        Ok(self.maybe(sqlx::query(signed).bind(key.to_string())).await?.is_some())
    }

    /// What the newest event about this key says of it.
    pub(super) async fn key_history(&self, key: &PublicKey) -> Result<KeyHistory, StoreError> {
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
