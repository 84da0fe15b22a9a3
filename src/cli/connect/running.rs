//! The daemon that is to run with the config: waited for, reloaded, connected to the chat.

use crate::cli::{Context, say, token};
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_client::{Client, ClientError};
use countersign_domain::wire::ReadyReply;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Between two looks at the daemon.
const LOOK: Duration = Duration::from_millis(200);
/// How long a person has to start a daemon.
const START: Duration = Duration::from_secs(600);
/// How long the daemon may take to connect to the chat.
const CONNECT: Duration = Duration::from_secs(30);

/// A client of the daemon with the approver's token, once one runs with the config as it is now.
pub(super) async fn reloaded(context: &Context) -> Result<Client> {
    let client = context.approver()?;
    reachable(&client).await?;
    match client.reload().await {
        Ok(reply) if reply.restart.is_empty() => Ok(client),
        Ok(reply) => {
            say::aside(&say::literal(&reply.message));
            Ok(client)
        }
        Err(error @ ClientError::Refused(_)) => Err(anyhow::Error::from(error).context(
            "the running daemon does not know the approver's token of this config; restart it",
        )),
        Err(error) => Err(anyhow::Error::from(error).context("the daemon did not reload")),
    }
}

/// Waits until the daemon receives what people write on this platform.
pub(super) async fn receiving(client: &Client, platform: &str) -> Result<()> {
    let since = Instant::now();
    loop {
        let ready = client.ready().await?;
        let (state, why) = state_of(&ready, platform);
        match state {
            "up" => return Ok(()),
            "standby" => bail!(
                "another daemon leads this bot now ({why}); run this on that daemon's machine"
            ),
            _ if since.elapsed() < CONNECT => sleep(LOOK).await,
            _ => bail!("the daemon is not connected to {platform}: {why}"),
        }
    }
}

/// The state of a platform's adapter, and what more is known of it.
fn state_of<'r>(ready: &'r ReadyReply, platform: &str) -> (&'r str, String) {
    let Some(adapter) = ready.adapters.get(platform) else {
        return ("missing", "it does not have this account".to_owned());
    };
    let leader = adapter.leader.as_ref().map(|leader| leader.holder.as_str());
    let why = match adapter.state.as_str() {
        "standby" => leader.unwrap_or("it is not known which"),
        _ => adapter.detail.as_deref().unwrap_or("it is still connecting"),
    };
    (&adapter.state, say::literal(why))
}

async fn reachable(client: &Client) -> Result<()> {
    let since = Instant::now();
    let mut told = false;
    loop {
        match client.ready().await {
            Ok(_) => return Ok(()),
            Err(ClientError::Unreachable { .. }) if since.elapsed() < START => {
                if !told {
                    say::aside(
                        "No daemon runs yet. Start it in another terminal:\n\n    \
                                countersign serve\n\nThis goes on by itself then.",
                    );
                    told = true;
                }
                sleep(LOOK).await;
            }
            Err(error) => {
                return Err(anyhow!(error)).context("the config is written, and works later too");
            }
        }
    }
}
