//! `countersign restore`: puts a backup in the place of the store.

use super::{Context, Exit, say};
use anyhow::{Result, anyhow};
use countersign_store::{Remembered, RestoredStore, Since, private, restore};
use countersign_tokens::clock;
use std::path::PathBuf;

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

pub(super) async fn run(context: &Context, args: RestoreArgs) -> Result<Exit> {
    let config = context.config()?;
    let state = &config.daemon.state_dir;
    private::own_folder(state).map_err(|why| anyhow!(why))?;
    let known = Remembered::read(state)?;
    let now = clock::now_ms();
    let restored = restore(&config.store.database, &args.file, &known, now).await?;
    say::out(&told(&config.store.database.to_string(), &restored).join("\n"))?;
    Ok(Exit::Good)
}

fn told(store: &str, restored: &RestoredStore) -> Vec<String> {
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
        (open, 0) => format!("{} in it", wait(open)),
        (open, overdue) => {
            format!(
                "{} in it, {overdue} of them beyond the deadline: expired at the start",
                wait(open)
            )
        }
    }
}

fn wait(open: i64) -> String {
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

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
