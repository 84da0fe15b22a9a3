//! Opening the store: its files closed to others, and the same store as at the last start.

use crate::{
    config::Config,
    store::{Database, Remembered, Store, StoreError, Trouble, private},
};
use anyhow::{Context, Result, anyhow};
use std::path::Path;

/// Opens the store of this installation. `anew`: whatever is found is its store from now on.
///
/// # Errors
/// A sentence with what to do: it cannot be reached or written, it is gone or another one, or
/// others could exchange it.
pub(super) async fn open(config: &Config, anew: bool) -> Result<Store> {
    let (database, state) = (&config.store.database, config.daemon.state_dir.as_path());
    if let Some(file) = database.file() {
        close(file, state).map_err(|why| anyhow!("store: {why}"))?;
    }
    let said = |error: StoreError| match Trouble::of(&error, database) {
        Some(Trouble { says, mend }) => anyhow!("store: {says}; {mend}"),
        None => anyhow!("store {database}: {error}"),
    };
    let known = match anew {
        true => begin_anew(database, state)?,
        false => Remembered::read(state).map_err(said)?,
    };
    let store = Store::open_as(database, &known).await.map_err(said)?;
    known.keep(store.id()).map_err(said)?;
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
