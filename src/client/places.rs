//! The default places of files: the XDG folders of this user.

use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};

const NAME: &str = "countersign";

/// The folders of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The home folder.
    pub home: PathBuf,
    /// The folder of `countersign.toml`.
    pub config: PathBuf,
    /// The folder of the store.
    pub state: PathBuf,
    /// The folder of the socket, on systems that have one for this.
    pub runtime: Option<PathBuf>,
}

/// The user has no home folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no home folder")]
pub struct NoHome;

impl Places {
    /// Reads the folders from the environment.
    ///
    /// # Errors
    /// When there is no home folder.
    pub fn of_this_user() -> Result<Self, NoHome> {
        let xdg = etcetera::choose_base_strategy().map_err(|_| NoHome)?;
        let state = xdg.state_dir().unwrap_or_else(|| xdg.data_dir());
        Ok(Self {
            home: xdg.home_dir().into(),
            config: xdg.config_dir().join(NAME),
            state: state.join(NAME),
            runtime: xdg.runtime_dir().map(|dir| dir.join(NAME)),
        })
    }

    /// The default config file.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("countersign.toml")
    }

    /// Resolves a path in a config: `~/` is the home folder, and a relative path starts at `base`.
    #[must_use]
    pub fn resolve(&self, base: &Path, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => base.join(text),
        }
    }
}
