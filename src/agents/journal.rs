//! The file in which an agent notes what happens in a session: there it says that its turn was
//! interrupted, which it does not tell its hook.

use serde_json::Value;
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

/// The most that is read at once, in bytes. A longer line is passed over.
const MOST: u64 = 4 << 20;

/// A session's journal, of one JSON value a line, read from where it ends now.
#[derive(Debug, Clone)]
pub struct Journal {
    file: PathBuf,
    read: u64,
    /// Returns whether a line says that the turn was interrupted.
    interrupts: fn(&Value) -> bool,
}

impl Journal {
    /// The journal in this file.
    pub(super) fn new(file: PathBuf, interrupts: fn(&Value) -> bool) -> Self {
        let read = fs::metadata(&file).map_or(0, |file| file.len());
        Self { file, read, interrupts }
    }

    /// Returns whether a new line says that the turn was interrupted.
    // An agent chooses the file: the worst that it says is that nobody need be asked.
    pub fn is_interrupted(&mut self) -> bool {
        self.news().is_ok_and(|lines| {
            let mut lines = lines.split(|byte| *byte == b'\n');
            lines
                .any(|line| serde_json::from_slice(line).is_ok_and(|line| (self.interrupts)(&line)))
        })
    }

    /// The whole lines that are new.
    fn news(&mut self) -> io::Result<Vec<u8>> {
        // A pipe would be waited for.
        let there = fs::metadata(&self.file)?;
        if !there.is_file() || there.len() <= self.read {
            return Ok(Vec::new());
        }
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut news = Vec::new();
        file.take(MOST).read_to_end(&mut news)?;
        match news.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => news.truncate(end + 1),
            None if news.len() as u64 == MOST => {}
            None => news.clear(),
        }
        self.read += news.len() as u64;
        Ok(news)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use std::io::Write;

    #[test]
    fn only_a_whole_new_line_says_that_a_turn_was_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        fs::write(&path, "{\"type\":\"abort\"}\n").unwrap();
        let mut journal =
            Journal::new(path.clone(), |line| line.get("type") == Some(&"abort".into()));
        assert!(!journal.is_interrupted(), "an earlier turn");
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"type\":\"x\"}\nnonsense\n{\"type\":\"abo").unwrap();
        assert!(!journal.is_interrupted());
        file.write_all(b"rt\"}\n").unwrap();
        assert!(journal.is_interrupted());
        assert!(!journal.is_interrupted());
        fs::remove_file(&path).unwrap();
        assert!(!journal.is_interrupted());
    }
}
