//! The rows that this daemon writes to the log: each is proven where it is written, and known until
//! it is sealed.
//!
//! SECURITY: whoever can write to the database could add an event, copy one, or change one before
//! it is sealed. Only rows with our proof join the chain, each once; and one that was committed and
//! is gone is missed.

use super::log_state::LogBreak;
use countersign_domain::log::{ProvenRow, RowProof, SigningKey};
use countersign_tokens::ids;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// Proves rows, and knows those that are not sealed yet.
#[derive(Debug)]
pub(super) struct LogRows {
    store: Arc<str>,
    /// The name of this run of the daemon.
    run: String,
    rows: Mutex<Rows>,
    condition: Mutex<LogCondition>,
}

/// How the log is.
#[derive(Debug, Clone, Default)]
pub(super) struct LogCondition {
    /// What is wrong with it, and stays so.
    pub(super) broken: Option<LogBreak>,
    /// Since when nothing can be sealed, and why.
    pub(super) failing: Option<(Instant, String)>,
}

#[derive(Debug)]
struct Rows {
    /// The newest first: rows that were written with an earlier key are ours too.
    keys: Vec<Arc<SigningKey>>,
    last: i64,
    /// The rows that may be in the database, and whether they are: they were committed.
    written: BTreeMap<i64, bool>,
}

/// Whose a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOrigin {
    /// This run's, with its number.
    Ours(i64),
    /// Of an earlier run of this daemon.
    Earlier,
    /// A daemon with another key proved it, which only that daemon can check.
    Theirs,
    /// Nobody's: it has no proof, or was changed, or is a copy.
    Foreign,
}

impl LogRows {
    /// Proves the rows of a store with this key.
    pub(super) fn new(store: Arc<str>, key: SigningKey) -> Self {
        let rows = Rows { keys: vec![Arc::new(key)], last: 0, written: BTreeMap::new() };
        let (rows, condition) = (Mutex::new(rows), Mutex::default());
        Self { store, run: ids::ask_id(), rows, condition }
    }

    /// Proves with this key from now on.
    pub(super) fn prove_with(&self, key: Arc<SigningKey>) {
        self.rows().keys.insert(0, key);
    }

    /// Also rows with the proof of this key are ours.
    pub(super) fn know(&self, key: SigningKey) {
        self.rows().keys.push(Arc::new(key));
    }

    /// The number and the proof of a row that is about to be written.
    pub(super) fn prove(&self, row: &ProvenRow<'_>) -> (i64, String) {
        let (key, number) = {
            let mut rows = self.rows();
            rows.last += 1;
            let number = rows.last;
            // Before it is written, so that whoever seals it knows it.
            rows.written.insert(number, false);
            (rows.keys.first().cloned(), number)
        };
        let proof = key.map(|key| RowProof::of(&key, &self.store, (&self.run, number), row));
        (number, proof.map(|proof| proof.to_string()).unwrap_or_default())
    }

    /// These rows are in the database.
    pub(super) fn committed(&self, numbers: &[i64]) {
        let mut rows = self.rows();
        for number in numbers {
            // One that was sealed at once is not known any more.
            if let Some(committed) = rows.written.get_mut(number) {
                *committed = true;
            }
        }
    }

    /// These rows are in no database, or were sealed.
    pub(super) fn settled(&self, numbers: &[i64]) {
        let mut rows = self.rows();
        for number in numbers {
            rows.written.remove(number);
        }
    }

    /// The rows that are in the database and not sealed.
    pub(super) fn unsealed(&self) -> BTreeSet<i64> {
        let rows = self.rows();
        rows.written
            .iter()
            .filter(|(_, committed)| **committed)
            .map(|(number, _)| *number)
            .collect()
    }

    /// Whose this row is.
    pub(super) fn origin(&self, proof: Option<&RowProof>, row: &ProvenRow<'_>) -> RowOrigin {
        let Some(proof) = proof else { return RowOrigin::Foreign };
        let rows = self.rows();
        let name = |key: &Arc<SigningKey>| RowProof::name_of(&key.public().to_string());
        let mut ours = rows.keys.iter().filter(|key| name(key) == proof.key).peekable();
        if ours.peek().is_none() {
            return RowOrigin::Theirs;
        }
        if !ours.any(|key| proof.proves(key, &self.store, row)) {
            return RowOrigin::Foreign;
        }
        match (proof.run == self.run, rows.written.contains_key(&proof.number)) {
            (true, true) => RowOrigin::Ours(proof.number),
            (true, false) => RowOrigin::Foreign,
            (false, _) => RowOrigin::Earlier,
        }
    }

    /// How the log is.
    pub(super) fn condition(&self) -> MutexGuard<'_, LogCondition> {
        self.condition.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const ROW: ProvenRow<'_> = ProvenRow { at: 1, kind: "asked", ask: None, data: "{}" };

    fn key() -> SigningKey {
        SigningKey::read(&SigningKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_row_is_ours_once_and_a_copy_a_change_and_a_strangers_row_are_not() {
        let rows = LogRows::new("store".into(), key());
        let (number, proof) = rows.prove(&ROW);
        let proof: RowProof = proof.parse().unwrap();
        assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Ours(1));
        let changed = ProvenRow { kind: "answered", ..ROW };
        assert_eq!(rows.origin(Some(&proof), &changed), RowOrigin::Foreign);
        assert_eq!(rows.origin(None, &ROW), RowOrigin::Foreign);
        assert!(rows.unsealed().is_empty(), "it may have been rolled back");
        rows.committed(&[number]);
        assert!(rows.unsealed().into_iter().eq([number]));
        rows.settled(&[number]);
        assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Foreign, "a copy");
        let others = LogRows::new("store".into(), key());
        let (_, theirs) = others.prove(&ROW);
        assert_eq!(rows.origin(theirs.parse().ok().as_ref(), &ROW), RowOrigin::Theirs);
    }

    #[test]
    fn rows_of_an_earlier_run_and_of_an_earlier_key_are_ours() {
        let pkcs8 = SigningKey::generate().unwrap();
        let read = || SigningKey::read(&pkcs8).unwrap();
        let earlier = LogRows::new("store".into(), read());
        let (_, proof) = earlier.prove(&ROW);
        let proof: RowProof = proof.parse().unwrap();
        let rows = LogRows::new("store".into(), key());
        assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Theirs);
        rows.know(read());
        assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Earlier);
        let (_, before) = rows.prove(&ROW);
        rows.prove_with(Arc::new(key()));
        assert_eq!(rows.origin(before.parse().ok().as_ref(), &ROW), RowOrigin::Ours(1));
    }
}
