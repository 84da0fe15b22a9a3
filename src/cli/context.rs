//! The shared inputs of every command: the config, and clients with the token of an agent or of the
//! approver.

use crate::config::{self, Config};
use anyhow::{Context as _, Result};
use countersign_client::Client;
use countersign_tokens::secret::Secret;
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// The environment variable with the approver's token; with `_FILE` appended, the path of a file
/// with it.
pub(super) const APPROVER_TOKEN: &str = "COUNTERSIGN_APPROVER_TOKEN";

/// The shared inputs of every command.
pub(super) struct Context {
    /// The value of `--config`.
    pub(super) flag: Option<PathBuf>,
}

impl Context {
    /// `flag` is the value of `--config`.
    pub(super) fn new(flag: Option<PathBuf>) -> Self {
        Self { flag }
    }

    /// Loads the config, including the environment's overrides.
    pub(super) fn config(&self) -> Result<Config> {
        Ok(Config::load(self.flag.as_deref())?)
    }

    /// Loads the config of a hook, which takes less from the environment. `sockets` is the folder
    /// of the daemon's socket where the config names none.
    pub(super) fn config_for_hook(&self, sockets: Option<&Path>) -> Result<Config> {
        Ok(Config::load_for_hook(self.flag.as_deref(), sockets)?)
    }

    /// A client with an agent's handle.
    pub(super) fn client(&self) -> Result<Client> {
        Ok(Client::new(&self.config()?.client, Duration::from_secs(5))?)
    }

    /// The config file that `--config` or the environment names.
    pub(super) fn named(&self) -> Option<PathBuf> {
        config::named(self.flag.as_deref())
    }

    /// A client with the approver's token.
    pub(super) fn approver(&self) -> Result<Client> {
        let config = self.config()?;
        let token = find(&config, &self.token_file()?)?;
        Ok(Client::new(&config.client, Duration::from_secs(5))?.with_token(token))
    }

    /// A client that sees all that this user may see: with the approver's token where there is one,
    /// else with an agent's handle.
    pub(super) fn reader(&self) -> Result<Client> {
        match self.approver() {
            Err(error) if error.is::<NoToken>() => self.client(),
            client => client,
        }
    }

    /// The file beside the config in which `init` writes the approver's token.
    pub(super) fn token_file(&self) -> Result<PathBuf> {
        Ok(Config::file(self.flag.as_deref())?.with_file_name("approver.token"))
    }
}

/// No approver's token was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "answering needs the approver's token: set ${APPROVER_TOKEN} or ${APPROVER_TOKEN}_FILE, or keep it in {}",
    .0.display()
)]
pub(super) struct NoToken(PathBuf);

fn find(config: &Config, beside: &PathBuf) -> Result<Secret> {
    // The environment first, as the most specific; then the config; then the file that `init`
    // wrote.
    if let Some(token) = variable(APPROVER_TOKEN) {
        return Ok(Secret::new(token));
    }
    if let Some(path) = variable(&format!("{APPROVER_TOKEN}_FILE")) {
        let token =
            fs::read_to_string(&path).with_context(|| format!("${APPROVER_TOKEN}_FILE {path}"))?;
        return Ok(Secret::new(token.trim()));
    }
    if let Some(token) = config.daemon.approver_token.as_ref().and_then(|token| token.plain()) {
        return Ok(token.clone());
    }
    match fs::read_to_string(beside) {
        Ok(token) if !token.trim().is_empty() => Ok(Secret::new(token.trim())),
        _ => Err(NoToken(beside.clone()).into()),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
