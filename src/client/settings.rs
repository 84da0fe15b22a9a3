//! The addresses of the daemons, and the client's credentials.

use countersign_tokens::secret::Secret;
use etcetera::BaseStrategy;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// The settings of the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientSettings {
    /// The daemons, tried in this order; any of them can serve a request. Never empty.
    pub url: Vec<Server>,
    /// The agent token, for a daemon over HTTP.
    pub token: Option<Secret>,
    /// Allows plain http to another machine; off unless the config sets it.
    pub insecure_http: bool,
    /// A PEM file with an additional certificate authority.
    pub ca_file: Option<PathBuf>,
}

/// The address of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Its unix socket, as the same user.
    Unix(PathBuf),
    /// HTTP or HTTPS.
    Http(reqwest::Url),
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Http(url) => f.write_str(url.as_str().trim_end_matches('/')),
        }
    }
}

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
