//! Leases: which daemon leads, for how long, and the epoch that fences its predecessors.

use super::{Store, StoreError, Tx, connection::Dialect};
use serde::Serialize;
use sqlx::{AssertSqlSafe, Row};
use std::time::Duration;

/// What the lease of a daemon's own life begins with; its holder follows.
pub const DAEMON: &str = "daemon/";

/// A lease that was taken. Its epoch is worth as much as the row says: the next holder's is higher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease's name.
    pub name: String,
    /// Which holder this is.
    pub epoch: i64,
}

/// Who holds a lease at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leader {
    /// The lease's name.
    #[serde(skip)]
    pub lease: String,
    /// Which daemon.
    pub holder: String,
    /// Which holder this is since the first.
    pub epoch: i64,
}

impl Store {
    /// Takes a lease that nobody holds; `None` while somebody does.
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
                let taken = taken.bind(ms(length)).fetch_optional(&mut *tx).await?;
                let epoch = taken.map(|row| row.try_get("epoch")).transpose()?;
                Ok(epoch.map(|epoch| Fence { name, epoch }))
            })
        })
        .await
    }

    /// Holds a lease for longer; false: somebody else has it by now.
    ///
    /// # Errors
    /// When the store fails; then it is as it was.
    pub async fn renew_lease(&self, fence: &Fence, length: Duration) -> Result<bool, StoreError> {
        let now = self.engine.dialect.now();
        let sql = format!("UPDATE lease SET until_at = {now} + $3 WHERE name = $1 AND epoch = $2");
        let renewed = sqlx::query(AssertSqlSafe(sql)).bind(fence.name.clone()).bind(fence.epoch);
        Ok(self.execute(renewed.bind(ms(length))).await? == 1)
    }

    /// Gives a lease back, so that the next daemon need not wait for its end.
    ///
    /// # Errors
    /// When the store fails; then it ends by itself.
    pub async fn release_lease(&self, fence: &Fence) -> Result<(), StoreError> {
        self.renew_lease(fence, Duration::ZERO).await?;
        self.tell();
        Ok(())
    }

    /// Who holds leases now.
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

    /// The daemons that have been heard of within this time.
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

    /// The milliseconds by which this machine's clock is ahead of the database's.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn clock_ahead(&self) -> Result<i64, StoreError> {
        let sql = format!("SELECT {} AS now", self.engine.dialect.now());
        let before = crate::clock::now_ms();
        let row = self.one(sqlx::query(AssertSqlSafe(sql))).await?;
        let here = before.midpoint(crate::clock::now_ms());
        Ok(here - row.try_get::<i64, _>("now")?)
    }

    /// Ends the leases of earlier daemons of a file: whoever has the file open is the only one.
    pub(super) async fn end_leases(&self) -> Result<(), StoreError> {
        let now = self.engine.dialect.now();
        let sql = format!("UPDATE lease SET until_at = {now} WHERE until_at > {now}");
        self.execute(sqlx::query(AssertSqlSafe(sql))).await.map(drop)
    }
}

impl Dialect {
    /// The database's own clock, in Unix milliseconds: daemons need not agree on the time.
    pub(super) fn now(self) -> &'static str {
        match self {
            Self::Sqlite => "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
            Self::Postgres => "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
        }
    }
}

/// Whether the one who writes still leads.
pub(super) async fn leads(tx: &mut Tx, fence: &Fence) -> Result<bool, StoreError> {
    let row = sqlx::query("SELECT epoch FROM lease WHERE name = $1").bind(&fence.name);
    let row = row.fetch_optional(&mut *tx).await?;
    let epoch: Option<i64> = row.map(|row| row.try_get("epoch")).transpose()?;
    Ok(epoch == Some(fence.epoch))
}

pub(super) fn ms(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX / 4)
}
