//! Checks an export, line by line: what was changed, is missing, stands elsewhere or twice, or was
//! cut off.

use crate::log::{
    LogRow,
    checkpoint::{Checkpoint, LogHead},
    export::{LogHeader, LogLine},
    key::PublicKey,
};
use std::collections::BTreeSet;

/// The most problems that are collected: the rest of a torn log says nothing new.
const MOST: usize = 100;
/// Rows are kept for so long at least, whatever the config says.
const LEAST_KEPT_MS: i64 = 3_600_000;

/// What is wrong with a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogProblem {
    /// The first line is no header.
    #[error("line 1 is not a header: this is not a log export")]
    NoHeader,
    /// The header does not fit the store's id.
    #[error("the header was changed: it does not fit the store's id")]
    Origin,
    /// This line, counted from 1, is not as countersign writes it.
    #[error("line {0} is not as countersign wrote it")]
    Line(usize),
    /// A row does not fit its hash and the row before it.
    #[error("row {0} was changed: it does not fit its hash and the row before it")]
    Changed(i64),
    /// Rows are not there, from the first to the last.
    #[error("{}", missing(*.0, *.1))]
    Missing(i64, i64),
    /// A row stands behind a later one, or twice.
    #[error("row {0} stands behind a later row, or is there twice")]
    Misplaced(i64),
    /// The checkpoint with this number does not fit the row before it.
    #[error("the checkpoint of row {0} does not fit the row before it")]
    Checkpoint(i64),
    /// The checkpoint with this number was not signed by the key that it names.
    #[error("the checkpoint of row {0} was not signed by the key that it names")]
    Signature(i64),
    /// The checkpoint with this number was signed by a key that is not trusted.
    #[error("the checkpoint of row {0} was signed by another key: {1}")]
    Signer(i64, String),
    /// The rows up to this one are gone, and no row says that they were forgotten.
    #[error("the first {0} rows are gone, and no row says that they were forgotten")]
    Forgotten(i64),
    /// This row says that rows were forgotten which were younger than what is kept.
    #[error("row {0} says that rows were forgotten which were not old enough")]
    ForgottenEarly(i64),
    /// This row says that a daemon found the log broken, and how.
    #[error("row {0}: a daemon found the log broken: {1}")]
    Broken(i64, String),
    /// No checkpoint covers the rows behind this one.
    #[error("no checkpoint covers the rows behind row {0}")]
    Unsigned(i64),
    /// The log does not contain the head that was expected.
    #[error(
        "the log does not have row {} with the hash {}: it was cut off or written anew",
        .0.count, .0.hash
    )]
    Head(LogHead),
}

fn missing(first: i64, last: i64) -> String {
    if first == last {
        format!("row {first} is missing")
    } else {
        format!("rows {first} to {last} are missing")
    }
}

/// A log without a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenLog {
    /// The id of the store.
    pub store: String,
    /// How many of the first rows were forgotten.
    pub forgotten: i64,
    /// The last row.
    pub head: LogHead,
    /// The keys that signed its checkpoints.
    pub keys: BTreeSet<PublicKey>,
    /// How many of the expected heads are of forgotten rows, and so were not compared.
    pub uncompared: usize,
}

/// Checks a log while it is read.
#[derive(Debug)]
pub struct LogCheck {
    header: Option<LogHeader>,
    /// The lines so far.
    lines: usize,
    /// The row before, as the log gives it.
    last: LogHead,
    /// The number of rows that the latest checkpoint covers.
    signed: i64,
    /// Whether the hash of the row before is known: not behind missing rows.
    joined: bool,
    /// How many rows the latest row of the kind `forgot` says are gone.
    announced: i64,
    trusted: BTreeSet<PublicKey>,
    expected: BTreeSet<(i64, String)>,
    keys: BTreeSet<PublicKey>,
    problems: Vec<LogProblem>,
}

impl LogCheck {
    /// Checks a log; where keys are `trusted`, only their checkpoints count. The log must contain
    /// each of the `expected` heads that it has not forgotten.
    #[must_use]
    pub fn new(
        trusted: impl IntoIterator<Item = PublicKey>,
        expected: impl IntoIterator<Item = LogHead>,
    ) -> Self {
        Self {
            header: None,
            lines: 0,
            last: LogHead { count: 0, hash: String::new() },
            signed: 0,
            joined: true,
            announced: 0,
            trusted: trusted.into_iter().collect(),
            expected: expected.into_iter().map(|head| (head.count, head.hash)).collect(),
            keys: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Takes the next line with its end.
    pub fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        let whole = line.strip_suffix(b"\n").and_then(|line| str::from_utf8(line).ok());
        let line = whole.unwrap_or_default();
        if self.lines == 1 {
            return self.begin(line);
        }
        match LogLine::read(line) {
            None => self.wrong(LogProblem::Line(self.lines)),
            Some(LogLine::Row(row, hash)) => self.row(&row, hash),
            Some(LogLine::Checkpoint(checkpoint)) => self.checkpoint(&checkpoint),
        }
    }

    /// Ends the log.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of its rows.
    // FAIL-CLOSED: a log without header, rows or checkpoint proves nothing and is refused.
    pub fn end(mut self) -> Result<ProvenLog, Vec<LogProblem>> {
        let Some(header) = self.header.take() else { return Err(vec![LogProblem::NoHeader]) };
        let head = LogHead { count: header.count, hash: header.head.clone() };
        if self.last.count < head.count {
            self.wrong(LogProblem::Missing(self.last.count + 1, head.count));
        } else if self.last != head {
            self.wrong(LogProblem::Head(head.clone()));
        }
        if self.signed < self.last.count || self.keys.is_empty() {
            self.wrong(LogProblem::Unsigned(self.signed));
        }
        if self.announced < header.forgotten {
            self.wrong(LogProblem::Forgotten(header.forgotten));
        }
        let mut uncompared = 0;
        for (count, hash) in std::mem::take(&mut self.expected) {
            // One that is forgotten cannot be compared any more.
            if count >= header.forgotten {
                self.wrong(LogProblem::Head(LogHead { count, hash }));
            } else {
                uncompared += 1;
            }
        }
        if self.problems.is_empty() {
            let LogHeader { store, forgotten, .. } = header;
            Ok(ProvenLog { store, forgotten, head, keys: self.keys, uncompared })
        } else {
            Err(self.problems)
        }
    }

    fn begin(&mut self, line: &str) {
        let Some(header) = LogHeader::read(line) else { return };
        self.last = LogHead { count: header.forgotten, hash: header.origin.clone() };
        self.signed = header.forgotten;
        let first = header.forgotten == 0;
        if header.forgotten < 0 || first && header.origin != LogRow::origin(&header.store) {
            self.wrong(LogProblem::Origin);
        }
        self.header = Some(header);
        self.found();
    }

    fn row(&mut self, row: &LogRow, hash: String) {
        let next = self.last.count + 1;
        if row.seq < next {
            return self.wrong(LogProblem::Misplaced(row.seq));
        }
        if row.seq > next {
            self.wrong(LogProblem::Missing(next, row.seq - 1));
            self.joined = false;
        }
        if self.joined && row.hash(&self.last.hash) != hash {
            self.wrong(LogProblem::Changed(row.seq));
        }
        match row.kind.as_str() {
            "forgot" => self.forgot(row),
            "log_broken" => {
                let says = text(&row.data, "says");
                self.wrong(LogProblem::Broken(row.seq, says));
            }
            // SECURITY: a daemon whose key is not pinned has rows here, also if its checkpoints
            // are gone.
            "log_key" if text(&row.data, "how") == "joined" && !self.trusted.is_empty() => {
                let key = text(&row.data, "key");
                if !self.trusted.iter().any(|trusted| trusted.to_string() == key) {
                    self.wrong(LogProblem::Signer(row.seq, key));
                }
            }
            _ => {}
        }
        self.joined = true;
        self.last = LogHead { count: row.seq, hash };
        self.found();
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) {
        let count = checkpoint.head.count;
        if checkpoint.head != self.last {
            return self.wrong(LogProblem::Checkpoint(count));
        }
        let store = self.header.as_ref().map(|header| header.store.clone()).unwrap_or_default();
        match checkpoint.signer(&store) {
            None => self.wrong(LogProblem::Signature(count)),
            Some(key) if !self.trusted.is_empty() && !self.trusted.contains(&key) => {
                self.wrong(LogProblem::Signer(count, key.to_string()));
            }
            Some(_) if self.signed == count && count > 0 => {
                self.wrong(LogProblem::Checkpoint(count));
            }
            Some(key) => {
                self.keys.insert(key);
                self.signed = count;
            }
        }
    }

    /// A row that says what was forgotten: it counts only for rows that were old enough.
    fn forgot(&mut self, row: &LogRow) {
        let number = |name| number(&row.data, name);
        let rows = number("rows");
        let newest = number("newest");
        let keep = number("keep_ms");
        match (rows, newest, keep) {
            (Some(rows), Some(newest), Some(LEAST_KEPT_MS..)) => {
                if row.at.saturating_sub(newest) < keep.unwrap_or(i64::MAX) {
                    return self.wrong(LogProblem::ForgottenEarly(row.seq));
                }
                self.announced = self.announced.max(rows);
            }
            _ => self.wrong(LogProblem::ForgottenEarly(row.seq)),
        }
    }

    /// Notes that the log contains this head.
    fn found(&mut self) {
        if !self.expected.is_empty() {
            self.expected.remove(&(self.last.count, self.last.hash.clone()));
        }
    }

    fn wrong(&mut self, problem: LogProblem) {
        if self.problems.len() < MOST {
            self.problems.push(problem);
        }
    }
}

fn number(data: &str, name: &str) -> Option<i64> {
    serde_json::from_str::<serde_json::Value>(data).ok()?.get(name)?.as_i64()
}

fn text(data: &str, name: &str) -> String {
    let data: Option<serde_json::Value> = serde_json::from_str(data).ok();
    let text = data.and_then(|data| Some(data.get(name)?.as_str()?.to_owned()));
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests;
