//! Which rows of the log a destination has taken.

use super::{Store, StoreError};
use sqlx::Row;

impl Store {
    /// The last row of the log that this destination has taken; 0 before the first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_sent(&self, destination: &str) -> Result<i64, StoreError> {
        let sent = sqlx::query("SELECT seq FROM log_sent WHERE destination = $1");
        let sent = self.maybe(sent.bind(destination)).await?;
        Ok(sent.map(|row| row.try_get("seq")).transpose()?.unwrap_or(0))
    }

    /// Notes that this destination has taken the rows up to this one.
    ///
    /// # Errors
    /// When the store fails; then they are sent again.
    pub async fn note_log_sent(&self, destination: &str, seq: i64) -> Result<(), StoreError> {
        let note = "INSERT INTO log_sent (destination, seq) VALUES ($1, $2) \
             ON CONFLICT (destination) DO UPDATE SET seq = excluded.seq";
        let note = sqlx::query(note).bind(destination.to_owned()).bind(seq);
        self.execute(note).await.map(drop)
    }
}
