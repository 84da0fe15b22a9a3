//! Appends the lines of the log to a file.

use countersign_domain::log::LogLine;
use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf};

/// Appends these lines; they are on the disk afterwards.
pub(super) async fn append(file: PathBuf, lines: &[LogLine]) -> Result<(), String> {
    let text: String = lines.iter().map(|line| format!("{}\n", line.line())).collect();
    let append = move || {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).mode(0o600).open(file)?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    };
    let appended = tokio::task::spawn_blocking(append).await;
    appended.map_err(|error| error.to_string())?.map_err(|error: std::io::Error| error.to_string())
}
