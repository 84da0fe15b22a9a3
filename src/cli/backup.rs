//! `countersign backup` and `restore`: copies the store while the daemon runs, and puts a copy in
//! its place.

use super::{
    Context,
    say::{self, counted},
};
use anyhow::{Result, anyhow};
use countersign_store::{Remembered, RestoredStore, Since, back_up, private, restore};
use countersign_tokens::clock;
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

pub(super) async fn run(context: &Context, args: BackupArgs) -> Result<()> {
    let config = context.config()?;
    let asks = back_up(&config.store.database, &args.file).await?;
    say::out(&format!("{} holds {}", args.file.display(), counted(asks, "ask")))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Stop the daemon first, and run it as the daemon's user. The backup is checked, and brought to this
version's tables. The store that was there is kept beside the new one. What was revoked after the
backup stays revoked: revoked grants and tokens, closed asks, a pause. A store on PostgreSQL is
restored with pg_restore.")]
pub(super) struct RestoreArgs {
    /// A file that `countersign backup` made
    file: PathBuf,
}

pub(super) async fn run_restore(context: &Context, args: RestoreArgs) -> Result<()> {
    let config = context.config()?;
    let state = &config.daemon.state_dir;
    private::own_folder(state).map_err(|why| anyhow!(why))?;
    let known = Remembered::read(state)?;
    let now = clock::now_ms();
    let restored = restore(&config.store.database, &args.file, &known, now).await?;
    say::out(&report(&config.store.database.to_string(), &restored).join("\n"))
}

fn report(store: &str, restored: &RestoredStore) -> Vec<String> {
    let mut lines = vec![format!("{store} is the backup now; {}.", waiting(restored))];
    if let Some(replaced) = &restored.replaced {
        lines.push(format!("The store that was there is kept as {}.", replaced.display()));
    }
    match &restored.since {
        None => {}
        Some(Ok(since)) => lines.extend(taken_back(since)),
        Some(Err(why)) => lines.push(format!(
            "It cannot be read ({why}), so what was revoked after the backup is in force again: \
             look at `countersign grants`, `countersign token list` and `countersign pending`."
        )),
    }
    lines.push("Start the daemon, and look with `countersign status`.".to_owned());
    lines
}

fn waiting(restored: &RestoredStore) -> String {
    match (restored.open, restored.overdue) {
        (0, _) => "no ask waits in it".to_owned(),
        (open, 0) => format!("{} in it", asks_wait(open)),
        (open, overdue) => {
            format!(
                "{} in it, {overdue} of them beyond the deadline: expired at the start",
                asks_wait(open)
            )
        }
    }
}

fn asks_wait(open: i64) -> String {
    if open == 1 { "1 ask waits".to_owned() } else { format!("{open} asks wait") }
}

fn taken_back(since: &Since) -> Option<String> {
    let Since { revoked, tokens, passkeys, closed, paused } = since;
    let parts = [
        (*revoked > 0).then(|| counted(*revoked, "revoked grant")),
        (*tokens > 0).then(|| counted(*tokens, "revoked agent token")),
        (*passkeys > 0).then(|| counted(*passkeys, "removed passkey")),
        (*closed > 0).then(|| counted(*closed, "closed ask")),
        paused.is_some().then(|| "the pause".to_owned()),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Taken over from it: {}.", parts.join(", ")))
}
