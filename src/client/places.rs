//! Where things are when the config does not say: the XDG folders of this user.

use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};

const NAME: &str = "countersign";

/// The folders of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The home folder.
    pub home: PathBuf,
    /// Where `countersign.toml` is looked for.
    pub config: PathBuf,
    /// Where the store is kept.
    pub state: PathBuf,
    /// Where the socket is made, on systems that have such a folder.
    pub runtime: Option<PathBuf>,
}

/// There is no home folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no home folder")]
pub struct NoHome;

impl Places {
    /// Asks the environment.
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

    /// The config file of somebody who named none.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("countersign.toml")
    }

    /// A path as a config means it: `~/` is the home folder, a relative one starts at `base`.
    #[must_use]
    pub fn resolve(&self, base: &Path, text: &str) -> PathBuf {
        match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => base.join(text),
        }
    }
}
