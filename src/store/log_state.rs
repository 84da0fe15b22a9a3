//! What a daemon knows of the log beside the database: in memory, and signed in its state folder.
//!
//! SECURITY: the database is what somebody else may write. The daemon seals only what continues
//! what it sealed itself, as it stands here.

use super::private;
use countersign_domain::log::{LogHead, PublicKey, SigningKey};
use std::{collections::BTreeSet, fs, io, path::Path};

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

impl LogState {
    /// Reads the file of this folder.
    // FAIL-CLOSED: a file that was changed is not followed.
    pub(super) fn read(state: &Path) -> StateFile {
        let text = match fs::read_to_string(state.join(HEAD)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return StateFile::Gone,
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
        private::write(&state.join(HEAD), &format!("{text}signed {signature}\n"))
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
pub(super) fn known_key(state: &Path) -> Option<PublicKey> {
    fs::read_to_string(state.join(HEAD)).ok()?.lines().nth(1)?.parse().ok()
}

fn signed(text: &str) -> Vec<u8> {
    format!("countersign log state 1\n{text}").into_bytes()
}

fn parsed(text: &str) -> Option<(LogState, PublicKey)> {
    let (text, signature) = text.strip_suffix('\n')?.rsplit_once("\nsigned ")?;
    let text = format!("{text}\n");
    let mut lines = text.lines();
    let (head, key) = (lines.next()?, lines.next()?);
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
                let (row, at) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
                let (says, accepted) = (parts.next()?.to_owned(), how == "accepted");
                known.broken = Some(LogBreak { row, at, says, accepted });
            }
            _ => return None,
        }
    }
    Some((known, key))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn what_is_known_reads_back_and_every_changed_byte_is_found() {
        let key = SigningKey::read(&SigningKey::generate().unwrap()).unwrap();
        let other = SigningKey::read(&SigningKey::generate().unwrap()).unwrap();
        let head = |count| Some(LogHead { count, hash: "ab".repeat(32) });
        let says = "row 3 was changed".to_owned();
        let broken = LogBreak { row: 3, at: 77, says, accepted: false };
        let accepted = LogBreak { accepted: true, ..broken.clone() };
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(LogState::read(folder.path()), StateFile::Gone);
        for broken in [None, Some(broken), Some(accepted)] {
            let known = LogState {
                store: "k3f0ab12".to_owned(),
                head: head(7),
                forgotten: head(2),
                keys: [other.public()].into(),
                broken,
            };
            known.write(folder.path(), &key).unwrap();
            let holds = StateFile::Holds(known, key.public());
            assert_eq!(LogState::read(folder.path()), holds);
            assert_eq!(known_head(folder.path()), head(7));
        }
        let file = folder.path().join(HEAD);
        let bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
            fs::write(&file, changed).unwrap();
            assert_eq!(LogState::read(folder.path()), StateFile::Unusable, "byte {at}");
        }
        fs::write(&file, format!("7:{}\n{}\n", "ab".repeat(32), key.public())).unwrap();
        assert_eq!(LogState::read(folder.path()), StateFile::Unusable, "nobody signed it");
    }
}
