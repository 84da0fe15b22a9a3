//! `countersign log key`: the key that signs the log.

use crate::cli::{Context, Exit, say, token};
use anyhow::Result;
use countersign_domain::wire::LogKeyChange;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
After --rotate, tokens of approved calls (`countersign ask --token`) that were not used yet are
refused. Pin the new key beside the old one: logs from before were signed by the old one.")]
pub(super) struct KeyArgs {
    /// Let the daemon make another key; the old one signs that it did
    #[arg(long, conflicts_with = "accept")]
    rotate: bool,
    /// Accept the key that signs now, though nobody rotated it, and end the alarm of a broken log;
    /// `log verify` goes on saying so
    #[arg(long)]
    accept: bool,
}

impl KeyArgs {
    /// Whether it changes anything.
    #[cfg(test)]
    pub(super) fn decides(&self) -> bool {
        self.rotate || self.accept
    }
}

pub(super) async fn run(context: &Context, args: &KeyArgs) -> Result<Exit> {
    let client = context.approver()?;
    let key = match (args.rotate, args.accept) {
        (true, _) => client.change_log_key(LogKeyChange::Rotate).await?.key,
        (_, true) => client.change_log_key(LogKeyChange::Accept).await?.key,
        (false, false) => client.log(Some(i64::MAX), None).await?.key,
    };
    say::out(&key)?;
    Ok(Exit::Good)
}
