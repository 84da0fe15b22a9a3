//! Opens the store: closes its files to others, and checks that it is the known one.

use crate::config::Config;
use anyhow::{Context, Result, anyhow};
use countersign_store::{Database, Remembered, Store, StoreError, Trouble, private};
use std::path::Path;

/// Opens this installation's store. With `anew`, the store that is found becomes the known one.
///
/// # Errors
/// A sentence with the fix: the store is unreachable or read-only, gone or replaced, or other users
/// could replace it.
pub(super) async fn open(config: &Config, anew: bool) -> Result<Store> {
    let database = &config.store.database;
    let state = config.daemon.state_dir.as_path();
    if let Some(file) = database.file() {
        close(file, state).map_err(|why| anyhow!("store: {why}"))?;
    }
    let said = |error: StoreError| match Trouble::of(&error, database) {
        Some(Trouble { says, fix }) => anyhow!("store: {says}; {fix}"),
        None => anyhow!("store {database}: {error}"),
    };
    let known =
        if anew { begin_anew(database, state)? } else { Remembered::read(state).map_err(said)? };
    let store = Store::open_as(database, &known).await.map_err(said)?;
    known.keep(store.id()).map_err(said)?;
    // Again, because opening created files: the write-ahead log, its index and the lock.
    if let Some(file) = database.file() {
        private::files(file).map_err(|why| anyhow!("store: {why}"))?;
    }
    Ok(store)
}

fn close(file: &Path, state: &Path) -> Result<(), String> {
    match file.parent() {
        Some(folder) if folder != state => private::folder_of_store(folder)?,
        _ => {}
    }
    private::files(file)
}

fn begin_anew(database: &Database, state: &Path) -> Result<Remembered> {
    if let Some(file) = database.file() {
        let left = private::set_aside(file)
            .with_context(|| format!("cannot move away what is left of {database}"))?;
        for path in left {
            tracing::warn!(path = %path.display(), "what was left of the store was moved here");
        }
    }
    tracing::warn!(
        %database,
        "--new-store: what is found is the store from now on; start without it next time"
    );
    Ok(Remembered::nothing(state))
}
