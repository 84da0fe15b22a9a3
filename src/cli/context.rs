//! The config and the client that a command starts from.

use crate::{
    client::Client,
    config::{self, Config},
};
use anyhow::Result;
use std::{path::PathBuf, time::Duration};

/// What every command starts from.
pub(super) struct Context {
    /// The file that `--config` names.
    pub(super) flag: Option<PathBuf>,
}

impl Context {
    /// `flag` is the value of `--config`.
    pub(super) fn new(flag: Option<PathBuf>) -> Self {
        Self { flag }
    }

    /// The config, with the environment over it.
    pub(super) fn config(&self) -> Result<Config> {
        Ok(Config::load(self.flag.as_deref())?)
    }

    /// A client with an agent's handle.
    pub(super) fn client(&self) -> Result<Client> {
        Ok(Client::new(&self.config()?.client, Duration::from_secs(5))?)
    }

    /// The config file that was named by flag or environment.
    pub(super) fn named(&self) -> Option<PathBuf> {
        config::named(self.flag.as_deref())
    }
}
