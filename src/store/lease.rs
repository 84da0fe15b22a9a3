//! Leases: the daemon that leads, until when, and the epoch that fences off its predecessors.

use super::{Store, StoreError, Tx, engine::SqlDialect};
use countersign_tokens::clock;
use serde::Serialize;
use sqlx::{AssertSqlSafe, Row};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How far clocks may differ before somebody has to know, in milliseconds.
pub const CLOCK_MS: i64 = 2_000;
/// The time between two readings of the database's clock: the longest for which a machine that
/// slept goes by a time that is past.
const READ_CLOCK: Duration = Duration::from_secs(5);
/// A reply that takes longer says too little of what time it is.
const SLOW: Duration = Duration::from_secs(2);

/// The prefix of the lease that shows that a daemon is alive; the holder's name follows.
pub const DAEMON: &str = "daemon/";

/// A lease that was taken. It is valid while the row has this epoch: the next holder's is higher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease's name.
    pub name: String,
    /// The number of this holder.
    pub epoch: i64,
}

/// The current holder of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leader {
    /// The lease's name.
    #[serde(skip)]
    pub lease: String,
    /// The daemon's name.
    pub holder: String,
    /// The number of this holder, counted since the first.
    pub epoch: i64,
}

impl Store {
    /// Takes a lease that is free; `None` while another daemon holds it.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: the epoch rises with every holder, so that at most one daemon holds the newest.
    pub async fn take_lease(
        &self,
        name: &str,
        holder: &str,
        length: Duration,
    ) -> Result<Option<Fence>, StoreError> {
        // One statement decides: two daemons that both read "free" could both take it.
        let now = self.engine.dialect.now();
        let sql = format!(
            "INSERT INTO lease (name, holder, epoch, until_at) VALUES ($1, $2, 1, {now} + $3) \
             ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = lease.epoch + 1, \
             until_at = excluded.until_at WHERE lease.until_at <= {now} RETURNING epoch"
        );
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.write(move |tx| {
            Box::pin(async move {
                let taken = sqlx::query(AssertSqlSafe(sql)).bind(&name).bind(holder);
                let taken = taken.bind(ms(length)).fetch_optional(&mut **tx).await?;
                let epoch = taken.map(|row| row.try_get("epoch")).transpose()?;
                Ok(epoch.map(|epoch| Fence { name, epoch }))
            })
        })
        .await
    }

    /// Extends a lease; `false` if another daemon holds it by now.
    ///
    /// # Errors
    /// When the store fails; then the lease is unchanged.
    pub async fn renew_lease(&self, fence: &Fence, length: Duration) -> Result<bool, StoreError> {
        let now = self.engine.dialect.now();
        // No condition on `until_at`: a holder that is late but has no successor may continue.
        let sql = format!("UPDATE lease SET until_at = {now} + $3 WHERE name = $1 AND epoch = $2");
        let renewed = sqlx::query(AssertSqlSafe(sql)).bind(fence.name.clone()).bind(fence.epoch);
        Ok(self.execute(renewed.bind(ms(length))).await? == 1)
    }

    /// Ends a lease early, so that the next daemon need not wait until it runs out.
    ///
    /// # Errors
    /// When the store fails; then the lease runs out.
    pub async fn release_lease(&self, fence: &Fence) -> Result<(), StoreError> {
        self.renew_lease(fence, Duration::ZERO).await?;
        self.tell();
        Ok(())
    }

    /// The current holders of all leases.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn leaders(&self) -> Result<Vec<Leader>, StoreError> {
        let now = self.engine.dialect.now();
        let sql =
            format!("SELECT name, holder, epoch FROM lease WHERE until_at > {now} ORDER BY name");
        let rows = self.all(sqlx::query(AssertSqlSafe(sql))).await?;
        let leader = |row: &sqlx::any::AnyRow| {
            Ok(Leader {
                lease: row.try_get("name")?,
                holder: row.try_get("holder")?,
                epoch: row.try_get("epoch")?,
            })
        };
        rows.iter().map(leader).collect()
    }

    /// The daemons whose own lease has not been over for longer than `silence`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn daemons(&self, silence: Duration) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "SELECT holder FROM lease WHERE name = '{DAEMON}' || holder AND until_at > {} - $1",
            self.engine.dialect.now()
        );
        let rows = self.all(sqlx::query(AssertSqlSafe(sql)).bind(ms(silence))).await?;
        rows.iter().map(|row| Ok(row.try_get("holder")?)).collect()
    }

    /// The number of milliseconds by which this machine's clock is ahead of the database's. On a
    /// store that daemons share, this process goes by the database's clock from then on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn clock_ahead(&self) -> Result<i64, StoreError> {
        let sql = format!("SELECT {} AS now", self.engine.dialect.now());
        let (before, asked) = (clock::machine_ms(), Instant::now());
        let row = self.one(sqlx::query(AssertSqlSafe(sql))).await?;
        let took = asked.elapsed();
        // The middle of the query's duration, so that half of the round trip does not count as a
        // difference.
        let here = before.midpoint(clock::machine_ms());
        let there: i64 = row.try_get("now")?;
        // In unit tests time follows tokio's clock instead.
        if self.is_shared() && took < SLOW && !cfg!(test) {
            clock::go_by(there, asked + took / 2);
        }
        Ok(here - there)
    }

    /// Goes by the database's clock where daemons share the store, until `stop` is cancelled.
    pub async fn keep_time(self, stop: CancellationToken) {
        while self.is_shared() && !stop.is_cancelled() {
            if let Err(error) = self.clock_ahead().await {
                tracing::debug!(%error, "the database's clock is read later");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(READ_CLOCK)).await;
        }
    }

    /// Ends the leases of earlier daemons of a file. The daemon that has the file open is the only
    /// one.
    pub(super) async fn end_leases(&self) -> Result<(), StoreError> {
        let now = self.engine.dialect.now();
        let sql = format!("UPDATE lease SET until_at = {now} WHERE until_at > {now}");
        self.execute(sqlx::query(AssertSqlSafe(sql))).await.map(drop)
    }
}

impl SqlDialect {
    /// The database's clock in Unix milliseconds. Leases use it because the clocks of daemons
    /// differ.
    pub(super) fn now(self) -> &'static str {
        match self {
            Self::Sqlite => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
            Self::Postgres => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }
}

/// Returns whether the fence is still valid. Runs in the transaction that it protects: a check
/// before it could be outdated at the commit.
pub(super) async fn leads(tx: &mut Tx, fence: &Fence) -> Result<bool, StoreError> {
    let row = sqlx::query("SELECT epoch FROM lease WHERE name = $1").bind(&fence.name);
    let row = row.fetch_optional(&mut **tx).await?;
    let epoch: Option<i64> = row.map(|row| row.try_get("epoch")).transpose()?;
    Ok(epoch == Some(fence.epoch))
}

pub(super) fn ms(length: Duration) -> i64 {
    // Not `i64::MAX`: the database adds the current time to it.
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX / 4)
}
