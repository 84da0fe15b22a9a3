//! `countersign reload`: puts the changed config in force.

use super::{Context, Exit, say, token};
use anyhow::Result;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A config with a mistake is refused, and the one before stays in force. No open ask is lost. SIGHUP
does the same.")]
pub(super) struct ReloadArgs {
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &ReloadArgs) -> Result<Exit> {
    let reply = context.approver()?.reload().await?;
    match args.json {
        true => say::json(&serde_json::to_value(reply)?)?,
        false => say::out(&say::literal(&reply.message))?,
    }
    Ok(Exit::Good)
}
