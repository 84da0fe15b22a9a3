//! The connections that read an SQLite file beside its writer.
//!
//! A pool asks a connection after every use whether it still stands, which for a file is as much work as
//! the query was; here one that failed, or was left in the middle of something, is simply opened anew.

use super::engine::{Dialect, Reading, connect};
use sqlx::{
    AnyConnection, Connection,
    any::{AnyConnectOptions, AnyRow},
};
use tokio::sync::{Mutex, MutexGuard};

/// Two of them: the second goes on while the first reads something long.
#[derive(Debug)]
pub(super) struct Readers {
    options: AnyConnectOptions,
    first: Mutex<Option<AnyConnection>>,
    second: Mutex<Option<AnyConnection>>,
}

impl Readers {
    /// Readers of this file; they open it when they are first needed.
    pub(super) fn new(options: AnyConnectOptions) -> Self {
        Self { options, first: Mutex::default(), second: Mutex::default() }
    }

    /// What the query finds; it sees everything that was committed before.
    pub(super) async fn fetch(&self, query: Reading<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut place = self.free().await;
        // Not back in its place before all went well.
        let mut connection = match place.take() {
            Some(connection) => connection,
            None => connect(&self.options, Dialect::Sqlite).await?,
        };
        let rows = query.fetch_all(&mut connection).await?;
        *place = Some(connection);
        Ok(rows)
    }

    /// Closes them, so that the write-ahead log can be folded in.
    pub(super) async fn close(&self) {
        for place in [&self.first, &self.second] {
            if let Some(connection) = place.lock().await.take() {
                let _ = connection.close().await;
            }
        }
    }

    async fn free(&self) -> MutexGuard<'_, Option<AnyConnection>> {
        tokio::select! {
            biased;
            place = self.first.lock() => place,
            place = self.second.lock() => place,
        }
    }
}
