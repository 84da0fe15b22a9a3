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

    /// The folders of this user's account: of the environment, only `HOME` counts, and an
    /// `XDG_RUNTIME_DIR` that only this user can write to. `runtime` is the one to use instead.
    ///
    /// # Errors
    /// When there is no home folder.
    // SECURITY: agents read a `.env` file of the project they work on into the environment of their
    // hooks, where a variable is not set yet. `HOME` always is.
    pub fn of_account(runtime: Option<PathBuf>) -> Result<Self, NoHome> {
        let home = etcetera::home_dir().map_err(|_| NoHome)?;
        let run = PathBuf::from(format!("/run/user/{}", rustix::process::geteuid().as_raw()));
        let of_session = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| *dir == run);
        Ok(Self {
            config: home.join(".config").join(NAME),
            state: home.join(".local/state").join(NAME),
            runtime: runtime.or_else(|| of_session.map(|_| run.join(NAME))),
            home,
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
