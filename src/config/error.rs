//! Errors of reading a config.

use std::path::PathBuf;

/// The config could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no home folder to search.
    #[error("there is no home folder to look for a config in; name one with --config FILE")]
    NoHome,
    /// The named file cannot be read.
    #[error("{file}: {why}; `countersign --config {file} init` writes one", file = file.display())]
    Unreadable {
        /// The named file.
        file: PathBuf,
        /// The system's error.
        why: String,
    },
    /// Mistakes in the file or the environment, one sentence each.
    #[error("{}", .0.join("\n"))]
    Mistakes(Vec<String>),
}
