//! Why a config could not be read.

use std::path::PathBuf;

/// Why a config could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no home folder to look in.
    #[error("there is no home folder to look for a config in; name one with --config FILE")]
    NoHome,
    /// The named file cannot be read.
    #[error("{file}: {why}; `countersign --config {file} init` writes one", file = file.display())]
    Unreadable {
        /// The file that was named.
        file: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The file or the environment holds mistakes, one sentence each.
    #[error("{}", .0.join("\n"))]
    Mistakes(Vec<String>),
}
