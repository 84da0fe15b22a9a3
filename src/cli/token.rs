//! Finds the approver's token of this user.

use super::Context;
use crate::config::Config;
use anyhow::{Context as _, Result};
use countersign_client::Client;
use countersign_tokens::secret::Secret;
use std::{fs, path::PathBuf, time::Duration};

/// The environment variable with the token; with `_FILE` appended, the path of a file with it.
pub(super) const VARIABLE: &str = "COUNTERSIGN_APPROVER_TOKEN";

/// No approver's token was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "answering needs the approver's token: set ${VARIABLE} or ${VARIABLE}_FILE, or keep it in {}",
    .0.display()
)]
pub(super) struct NoToken(PathBuf);

/// A client with the approver's token.
pub(super) fn approver(context: &Context) -> Result<Client> {
    let config = context.config()?;
    let token = find(&config, &file(context)?)?;
    Ok(Client::new(&config.client, Duration::from_secs(5))?.with_token(token))
}

/// A client that sees all that this user may see: with the approver's token where there is one,
/// else with an agent's handle.
pub(super) fn reader(context: &Context) -> Result<Client> {
    match approver(context) {
        Err(error) if error.is::<NoToken>() => context.client(),
        client => client,
    }
}

/// The file beside the config in which `init` writes the token.
pub(super) fn file(context: &Context) -> Result<PathBuf> {
    Ok(Config::file(context.flag.as_deref())?.with_file_name("approver.token"))
}

fn find(config: &Config, beside: &PathBuf) -> Result<Secret> {
    // The environment first, as the most specific; then the config; then the file that `init`
    // wrote.
    if let Some(token) = variable(VARIABLE) {
        return Ok(Secret::new(token));
    }
    if let Some(path) = variable(&format!("{VARIABLE}_FILE")) {
        let token =
            fs::read_to_string(&path).with_context(|| format!("${VARIABLE}_FILE {path}"))?;
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
