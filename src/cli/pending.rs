//! `countersign pending`: what waits for an answer.

use super::{Context, Exit, say, terminal};
use anyhow::{Context as _, Result};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub(super) struct PendingArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(context: &Context, args: &PendingArgs) -> Result<Exit> {
    let client = context.client()?;
    if args.json {
        say::json(&json!({ "asks": client.pending().await? }))?;
        return Ok(Exit::Good);
    }
    let asks = client.cards().await?;
    // Without an answer to this the list is worth as much.
    if let Ok(ready) = client.ready().await {
        if let Some(pause) = ready.paused {
            let since = say::literal(&pause.since);
            let by = say::literal(&pause.by.to_string());
            say::out(&format!("! Everything is paused by {by} since {since}."))?;
        }
        for problem in ready.problems {
            say::out(&format!("! {}", say::literal(&problem)))?;
        }
    }
    if asks.is_empty() {
        say::out("Nothing waits.")?;
    }
    for ask in asks {
        let card =
            terminal::of(ask).context("the daemon is of another version: it sends no cards")?;
        say::out(&terminal::draw(&card))?;
    }
    Ok(Exit::Good)
}
