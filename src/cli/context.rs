//! The shared inputs of every command: config and client.

use crate::config::{self, Config};
use anyhow::Result;
use countersign_client::Client;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

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
}
