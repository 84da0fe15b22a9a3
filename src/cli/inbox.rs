//! `countersign inbox`: prints the inbox's address at the running daemon.

use super::{Context, Exit, say};
use crate::{
    config::{ClientSettings, Server},
    daemon,
};
use anyhow::{Context as _, Result};
use countersign_client::Client;
use serde_json::json;
use std::{fs, time::Duration};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The address is a new one at every start of the daemon. It is read from the daemon's own folder:
where the daemon runs as another user, run this as that user, such as with
`sudo -u countersign`.")]
pub(super) struct InboxArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &InboxArgs) -> Result<Exit> {
    let link = link(context).await?;
    match args.json {
        true => say::json(&json!({ "inbox": link }))?,
        false => say::out(&link)?,
    }
    Ok(Exit::Good)
}

/// The inbox's address at the running daemon, with the token that opens it.
pub(super) async fn link(context: &Context) -> Result<String> {
    let config = context.config()?;
    let server = Server::Unix(config.daemon.socket.clone());
    // Always the daemon's own socket, whatever `[client]` names: only the daemon's user can create
    // it, so the address in the reply is genuine.
    let settings = ClientSettings { url: vec![server], token: None, ..config.client.clone() };
    let ready = Client::new(&settings, Duration::from_secs(5))?.ready().await?;
    let file = daemon::inbox_token_file(&config.daemon.state_dir);
    let token = fs::read_to_string(&file).with_context(|| {
        format!("cannot read {}; run this as the user of the daemon", file.display())
    })?;
    Ok(format!("{}/?token={}", say::literal(&ready.inbox), token.trim()))
}
