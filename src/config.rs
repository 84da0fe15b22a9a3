//! The config: one file, every key also from the environment, every mistake named with its place.

mod limits;
mod node;
mod read;
mod secrets;
mod section;
mod values;

use crate::{
    secret::{Secret, Token},
    store::Database,
};
use countersign_client::NoHome;
use std::{
    collections::BTreeSet,
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

pub use countersign_client::{ClientSettings, Places, Server};
pub use countersign_profiles::Profile;
pub use limits::Limits;

/// The default config file, as `countersign init` writes it.
pub const TEMPLATE: &str = include_str!("../config/countersign.toml");

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file that was read; `None` when there is none at the default place.
    pub path: Option<PathBuf>,
    /// What the daemon listens on and keeps.
    pub daemon: Daemon,
    /// What hook, ask and run talk to.
    pub client: ClientSettings,
    /// Where asks are kept.
    pub store: Store,
    /// How calls are ruled on.
    pub policy: Policy,
    /// The Telegram adapter, when wanted.
    pub telegram: Option<Telegram>,
    /// The Discord adapter, when wanted.
    pub discord: Option<Discord>,
    /// Who may answer.
    pub approvers: Approvers,
    /// How much the daemon takes.
    pub limits: Limits,
}

/// What the daemon listens on and keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Daemon {
    /// The unix socket of agents on this machine.
    pub socket: PathBuf,
    /// The address of the HTTP API and the inbox; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Lets agents on other machines open asks; `None`: nobody over TCP.
    pub agent_token: Option<Token>,
    /// Lets a person answer; `None`: nobody with a token.
    pub approver_token: Option<Token>,
    /// The folder of the store and of what else must last.
    pub state_dir: PathBuf,
}

/// Where asks are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// A file or a server.
    pub database: Database,
    /// How long a settled ask is kept.
    pub keep: Duration,
}

/// How calls are ruled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The dialect of the rules.
    pub profile: Profile,
    /// The mode of sessions that have none of their own, in the profile's own words; the profile's
    /// default where `None`.
    pub mode: Option<String>,
    /// The rules file, or the profile's own configuration; `None`: the embedded default.
    pub rules: Option<PathBuf>,
    /// As the profile's original does it, unsafe spots included.
    pub compat: bool,
    /// How long a person has; as long as in the profile's system where `None`.
    pub timeout: Option<Duration>,
    /// What happens then; what happens in the profile's system where `None`.
    pub on_timeout: Option<OnTimeout>,
}

/// What happens to an ask that nobody answered in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is denied.
    Deny,
    /// It waits on.
    Wait,
    /// It is approved when its tool is named here, else denied.
    Approve(Vec<String>),
}

/// The Telegram adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telegram {
    /// The bot's token.
    pub token: Secret,
    /// The Bot API server.
    pub api_url: String,
    /// Where cards go.
    pub targets: Vec<TelegramTarget>,
}

/// A Telegram chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelegramTarget {
    /// Negative for groups.
    pub chat: i64,
    /// A topic of a forum group.
    pub topic: Option<i32>,
}

/// The Discord adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discord {
    /// The bot's token.
    pub token: Secret,
    /// The API server.
    pub api_url: String,
    /// Where cards go.
    pub targets: Vec<DiscordTarget>,
}

/// A Discord channel or thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscordTarget {
    /// Its numeric id.
    pub channel: String,
}

/// Who may answer, by numeric id. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// Telegram users.
    pub telegram: BTreeSet<String>,
    /// Discord users.
    pub discord: BTreeSet<String>,
    /// Discord roles.
    pub discord_roles: BTreeSet<String>,
    /// Local answering; `None`: only while no chat approver is there.
    pub inbox: Option<bool>,
}

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

impl Config {
    /// Reads the file named by `flag`, else by `$COUNTERSIGN_CONFIG`, else the one at the default
    /// place if there is one; then the `COUNTERSIGN__SECTION__KEY` variables over it.
    ///
    /// # Errors
    /// Every mistake, with its place and how to mend it.
    pub fn load(flag: Option<&Path>) -> Result<Self, ConfigError> {
        let places = Places::of_this_user().map_err(|NoHome| ConfigError::NoHome)?;
        let named = named(flag);
        let file = named.clone().unwrap_or_else(|| places.config_file());
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => None,
            Err(error) => {
                return Err(ConfigError::Unreadable { file, why: error.to_string() });
            }
        };
        let file = text.map(|text| (file, text));
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| name.starts_with(read::PREFIX))
            .map(|(name, value)| (name, value.to_string_lossy().into_owned()))
            .collect();
        read::config(file, env, &places).map_err(ConfigError::Mistakes)
    }

    /// The file that [`Config::load`] reads for the same `flag`, whether it is there or not.
    ///
    /// # Errors
    /// When no file was named and there is no home folder.
    pub fn file(flag: Option<&Path>) -> Result<PathBuf, ConfigError> {
        match named(flag) {
            Some(file) => Ok(file),
            None => Ok(Places::of_this_user().map_err(|NoHome| ConfigError::NoHome)?.config_file()),
        }
    }
}

/// The files that `COUNTERSIGN__…_FILE` names: each holds a secret.
#[must_use]
pub fn secret_files(config: Option<&Path>) -> Vec<PathBuf> {
    let Ok(places) = Places::of_this_user() else { return Vec::new() };
    let base = config.and_then(Path::parent).unwrap_or(&places.config);
    let is_file =
        |name: &str| name.starts_with(read::PREFIX) && name.to_ascii_uppercase().ends_with("_FILE");
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_file))
        .map(|(_, value)| places.resolve(base, &value.to_string_lossy()))
        .map(|file| std::path::absolute(&file).unwrap_or(file))
        .collect()
}

/// The config file that somebody named, made absolute so that hooks find it from any folder.
pub(crate) fn named(flag: Option<&Path>) -> Option<PathBuf> {
    let from_env = || {
        std::env::var_os("COUNTERSIGN_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from)
    };
    let file = flag.map(Path::to_path_buf).or_else(from_env)?;
    Some(std::path::absolute(&file).unwrap_or(file))
}

/// `CHAT` or `CHAT/TOPIC`, as the adapter spells its targets.
impl fmt::Display for TelegramTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.topic {
            Some(topic) => write!(f, "{}/{topic}", self.chat),
            None => write!(f, "{}", self.chat),
        }
    }
}

#[cfg(test)]
mod tests;
