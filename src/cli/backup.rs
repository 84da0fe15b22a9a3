//! `countersign backup`: copies the store while the daemon runs.

use super::{Context, Exit, say};
use anyhow::Result;
use countersign_store::back_up;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The copy is taken from the store's file, whether the daemon runs or not, and checked. To go back
to it: stop the daemon, put the copy in the place of the store's file, remove the files beside it
that end in -wal and -shm, start the daemon. A store on PostgreSQL is backed up with pg_dump.")]
pub(super) struct BackupArgs {
    /// The file to make; it must not be there yet
    file: PathBuf,
}

pub(super) async fn run(context: &Context, args: BackupArgs) -> Result<Exit> {
    let config = context.config()?;
    let asks = back_up(&config.store.database, &args.file).await?;
    let asks = if asks == 1 { "1 ask".to_owned() } else { format!("{asks} asks") };
    say::out(&format!("{} holds {asks}", args.file.display()))?;
    Ok(Exit::Good)
}
