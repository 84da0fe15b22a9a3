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

    /// All that the query finds; it sees everything that was committed before.
    pub(super) async fn all(&self, query: Reading<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut reader = self.reader().await?;
        let rows = query.fetch_all(&mut reader.connection).await?;
        reader.leave();
        Ok(rows)
    }

    /// The first row of it.
    pub(super) async fn first(&self, query: Reading<'_>) -> Result<Option<AnyRow>, sqlx::Error> {
        let mut reader = self.reader().await?;
        let row = query.fetch_optional(&mut reader.connection).await?;
        reader.leave();
        Ok(row)
    }

    /// Closes them, so that the write-ahead log can be folded in.
    pub(super) async fn close(&self) {
        for place in [&self.first, &self.second] {
            if let Some(connection) = place.lock().await.take() {
                let _ = connection.close().await;
            }
        }
    }

    async fn reader(&self) -> Result<Reader<'_>, sqlx::Error> {
        let mut place = tokio::select! {
            biased;
            place = self.first.lock() => place,
            place = self.second.lock() => place,
        };
        let connection = match place.take() {
            Some(connection) => connection,
            None => connect(&self.options, Dialect::Sqlite).await?,
        };
        Ok(Reader { place, connection })
    }
}

/// A connection in use; its place stays empty unless all goes well.
struct Reader<'a> {
    place: MutexGuard<'a, Option<AnyConnection>>,
    connection: AnyConnection,
}

impl Reader<'_> {
    fn leave(mut self) {
        *self.place = Some(self.connection);
    }
}
