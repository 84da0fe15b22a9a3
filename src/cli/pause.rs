//! `countersign pause` and `resume`: the kill switch.

use super::{Context, say};
use anyhow::Result;
use countersign_domain::{deadline::PauseMode, wire::PauseRequest};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
While everything is paused no call of any agent is allowed, whatever rules and grants say, and no
deadline runs. `countersign resume` ends it.")]
pub(super) struct PauseArgs {
    /// Deny every call, with this as the reason
    #[arg(long, conflicts_with = "hold")]
    deny: bool,
    /// Hold every call until it is resumed; this is what happens anyway
    #[arg(long)]
    hold: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ResumeArgs {
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn pause(context: &Context, args: &PauseArgs) -> Result<()> {
    let mode = if args.deny { PauseMode::Deny } else { PauseMode::Hold };
    let reply = context.approver()?.pause(&PauseRequest { mode }).await?;
    say::reply(&reply, &reply.message, args.json)
}

pub(super) async fn resume(context: &Context, args: &ResumeArgs) -> Result<()> {
    let reply = context.approver()?.resume().await?;
    say::reply(&reply, &reply.message, args.json)
}
