//! Checks that the daemon runs with the config as it is now.

use super::finding::{DoctorCheck, warn};
use crate::{
    cli::{Context, token},
    config::{Config, Server},
};
use countersign_client::ClientError;

/// Says so where the file was changed after the daemon read it, and how to put it in force.
// Only for a daemon of this machine: another one has a file of its own.
pub(super) async fn config(context: &Context, config: &Config) -> Option<DoctorCheck> {
    let is_local = config.client.url.iter().all(|server| matches!(server, Server::Unix(_)));
    let there = config.version.as_ref().filter(|_| is_local)?;
    let ready = context.client().ok()?.ready().await.ok()?;
    ready.config.filter(|runs_with| runs_with != there)?;
    let is_refused = match context.approver() {
        Ok(client) => matches!(client.pending().await, Err(ClientError::Refused(_))),
        Err(_) => false,
    };
    // A reload needs the token, and the daemon's tokens change at a start only.
    let fix = match is_refused {
        true => "restart `countersign serve`: it does not know this config's approver token",
        false => "countersign reload",
    };
    Some(warn("config", "the daemon runs with an earlier version of this file", fix))
}
