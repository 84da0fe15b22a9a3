//! Tables of a newer countersign: a daemon of this version writes nothing more to them.

use super::{Store, StoreError, migrations};
use sqlx::Row;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// The pause between two looks at the tables.
const LOOK: Duration = Duration::from_secs(2);

impl Store {
    /// Looks at the tables again and again, until `stop` is cancelled.
    pub async fn watch_tables(self, stop: CancellationToken) {
        // An SQLite file has one daemon, so nobody else changes its tables.
        while self.is_shared() && !stop.is_cancelled() {
            if let Err(error) = self.check_tables().await {
                tracing::debug!(%error, "the version of the tables is not known");
            }
            let _ = stop.run_until_cancelled(sleep(LOOK)).await;
        }
    }

    /// Reads which step the tables are at. If this version does not know it, every later write
    /// fails.
    // FAIL-CLOSED: an earlier daemon does not know what a newer one stored, such as a rule that
    // needs two approvals, so it answers nothing. Its leases run out, and a newer one leads.
    pub(super) async fn check_tables(&self) -> Result<(), StoreError> {
        let row =
            self.one(sqlx::query("SELECT MAX(version) AS step FROM _sqlx_migrations")).await?;
        let step: i64 = row.try_get("step")?;
        if step > migrations::latest() {
            // Only the first is kept: one is enough.
            let _ = self.newer.set(step);
        }
        Ok(())
    }

    /// Returns an error once a newer countersign has changed the tables.
    pub(super) fn knows_its_tables(&self) -> Result<(), StoreError> {
        match self.newer.get() {
            None => Ok(()),
            Some(step) => Err(StoreError::Outdated { step: *step, known: migrations::latest() }),
        }
    }
}
