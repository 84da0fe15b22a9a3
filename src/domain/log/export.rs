//! The lines of an export: one header, then rows and checkpoints in order.

use crate::log::{
    LogRow,
    checkpoint::{Checkpoint, LogHead},
};
use serde::{Deserialize, Serialize};

/// The name of the format, with its version.
pub(crate) const FORMAT: &str = "countersign log 1";

/// The first line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogHeader {
    /// The name of the format.
    pub format: String,
    /// The id of the store.
    pub store: String,
    /// How many of the first rows were forgotten.
    pub forgotten: i64,
    /// The hash of the last forgotten row, or the log's origin.
    pub origin: String,
    /// The number of the last row in the export.
    pub count: i64,
    /// The hash of that row.
    pub head: String,
}

/// A further line of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogLine {
    /// A row with its hash.
    Row(LogRow, String),
    /// A checkpoint behind the row that it covers.
    Checkpoint(Checkpoint),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRow {
    seq: i64,
    at: i64,
    kind: String,
    ask: Option<String>,
    data: String,
    hash: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheckpoint {
    checkpoint: i64,
    head: String,
    at: i64,
    key: String,
    signature: String,
}

impl LogHeader {
    /// The header of an export of this store's log. `forgotten` is where it starts, `head` the last
    /// checkpoint's.
    #[must_use]
    pub fn new(store: &str, forgotten: LogHead, head: LogHead) -> Self {
        Self {
            format: FORMAT.to_owned(),
            store: store.to_owned(),
            forgotten: forgotten.count,
            origin: forgotten.hash,
            count: head.count,
            head: head.hash,
        }
    }

    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        written(self)
    }

    /// Reads a line; `None` unless it is exactly as [`Self::line`] writes it.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let header: Self = serde_json::from_str(line).ok()?;
        (header.line() == line && header.format == FORMAT).then_some(header)
    }
}

impl LogLine {
    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        match self.clone() {
            Self::Row(LogRow { seq, at, kind, ask, data }, hash) => {
                written(&WrittenRow { seq, at, kind, ask, data, hash })
            }
            Self::Checkpoint(Checkpoint { head, at, key, signature }) => {
                let LogHead { count: checkpoint, hash: head } = head;
                written(&WrittenCheckpoint { checkpoint, head, at, key, signature })
            }
        }
    }

    /// Reads a line; `None` unless it is exactly as [`Self::line`] writes it.
    // SECURITY: a line with more fields, other spaces or a field twice could show a reader
    // something that the hash does not cover.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let read = if line.starts_with("{\"seq\":") {
            let row: WrittenRow = serde_json::from_str(line).ok()?;
            let WrittenRow { seq, at, kind, ask, data, hash } = row;
            Self::Row(LogRow { seq, at, kind, ask, data }, hash)
        } else {
            let checkpoint: WrittenCheckpoint = serde_json::from_str(line).ok()?;
            let WrittenCheckpoint { checkpoint: count, head: hash, at, key, signature } =
                checkpoint;
            Self::Checkpoint(Checkpoint { head: LogHead { count, hash }, at, key, signature })
        };
        (read.line() == line).then_some(read)
    }
}

/// One line of JSON. These types always serialize.
fn written(line: &impl Serialize) -> String {
    serde_json::to_string(line).unwrap_or_default()
}
