//! Daemons that share a store: leases, which say which of them leads, until when, and the epoch that
//! fences off its predecessors; and hints, by which each learns that another changed something.
//!
//! A hint only announces that there may be something new, and it may be lost. A daemon reads the
//! rows after each hint, and also when it has received none for a while.

use super::{
    Store, StoreError,
    engine::{SqlDialect, Tx},
};
use countersign_tokens::clock;
use serde::Serialize;
use sqlx::{AssertSqlSafe, Row, postgres::PgListener};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::Notify, time::timeout};
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

const CHANNEL: &str = "countersign";

const RECONNECT: Duration = Duration::from_secs(1);

impl Store {
    /// Takes a lease that is free; `None` while another daemon holds it.
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
        let name = name.to_owned();
        let holder = holder.to_owned();
        self.write(move |tx| {
            Box::pin(async move {
                let taken = sqlx::query(AssertSqlSafe(sql)).bind(&name).bind(holder);
                let taken = tx.maybe(taken.bind(ms(length))).await?;
                let epoch = taken.map(|row| row.try_get("epoch")).transpose()?;
                Ok(epoch.map(|epoch| Fence { name, epoch }))
            })
        })
        .await
    }

    /// Extends a lease; `false` if another daemon holds it by now.
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
    pub async fn daemons(&self, silence: Duration) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "SELECT holder FROM lease WHERE name = '{DAEMON}' || holder AND until_at > {} - $1",
            self.engine.dialect.now()
        );
        self.texts(sqlx::query(AssertSqlSafe(sql)).bind(ms(silence))).await
    }

    /// The number of milliseconds by which this machine's clock is ahead of the database's. On a
    /// store that daemons share, this process goes by the database's clock from then on.
    pub async fn clock_ahead(&self) -> Result<i64, StoreError> {
        let sql = format!("SELECT {} AS now", self.engine.dialect.now());
        let before = clock::machine_ms();
        let asked = Instant::now();
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

    /// Returns whether other daemons may change the store.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.engine.dialect == SqlDialect::Postgres
    }

    /// Announces a change to the other daemons; many changes at once make one hint.
    pub(super) fn tell(&self) {
        self.news.notify_one();
    }

    /// Sends and receives hints until `stop` is cancelled; `heard` is notified of each hint from
    /// another daemon.
    pub async fn carry_hints(&self, heard: Arc<Notify>, stop: CancellationToken) {
        if self.is_shared() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.send_hints() => {}
                () = self.hear_hints(&heard) => {}
            }
        }
    }

    async fn send_hints(&self) {
        loop {
            self.news.notified().await;
            // `NOTIFY` takes no bound values; its function does.
            let hint = sqlx::query("SELECT 1 FROM pg_notify($1, $2)");
            if let Err(error) = self.engine.all(hint.bind(CHANNEL).bind(&*self.name)).await {
                tracing::debug!(%error, "other daemons got no hint; they look by themselves");
            }
        }
    }

    async fn hear_hints(&self, heard: &Notify) {
        loop {
            if let Err(error) = self.listen(heard).await {
                tracing::debug!(%error, "no hints from other daemons; looking every second");
            }
            tokio::time::sleep(RECONNECT).await;
        }
    }

    async fn listen(&self, heard: &Notify) -> Result<(), sqlx::Error> {
        let url = self.database.url();
        let silence = self.engine.limits.silence;
        let listening = timeout(silence, async {
            // A connection of its own, by sqlx's PostgreSQL driver: an `AnyConnection` cannot
            // listen.
            let mut line = PgListener::connect(&url).await?;
            line.listen(CHANNEL).await?;
            Ok(line)
        });
        let mut line = listening.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        // A connection on which nothing arrived for this long may be dead without an error.
        while let Ok(hint) = timeout(silence, line.try_recv()).await {
            match hint? {
                Some(hint) if hint.payload() == &*self.name => {}
                Some(_) => heard.notify_one(),
                None => {
                    // Hints may have been lost with the connection, so the rows are read.
                    heard.notify_one();
                    break;
                }
            }
        }
        Ok(())
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
    let row = tx.maybe(row).await?;
    let epoch: Option<i64> = row.map(|row| row.try_get("epoch")).transpose()?;
    Ok(epoch == Some(fence.epoch))
}

pub(super) fn ms(length: Duration) -> i64 {
    // Not `i64::MAX`: the database adds the current time to it.
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{testkit::engines::Fresh, tests::new_ask};

    #[tokio::test]
    async fn a_change_at_one_daemon_is_a_hint_at_another() {
        let Some(fresh) = Fresh::postgres().await else { return };
        let here = Store::open(&fresh.database).await.unwrap();
        let there = Store::open(&fresh.database).await.unwrap();
        let stop = CancellationToken::new();
        let heard = Arc::new(Notify::new());
        let carry = |store: &Store, heard: &Arc<Notify>| {
            let store = store.clone();
            let heard = heard.clone();
            let stop = stop.clone();
            tokio::spawn(async move { store.carry_hints(heard, stop).await })
        };
        let carrying = [carry(&here, &Arc::default()), carry(&there, &heard)];
        // The other store starts to listen at some later time; each insert is a further hint.
        let mut n = 0;
        while timeout(Duration::from_millis(100), heard.notified()).await.is_err() {
            n += 1;
            here.insert_ask(&new_ask(&format!("ask{n}"), None, None), &[], None).await.unwrap();
        }
        stop.cancel();
        futures::future::join_all(carrying).await;
        assert_eq!(there.asks_in("open", None).await.unwrap().asks.len(), n);
        here.close().await;
        there.close().await;
        fresh.drop().await;
    }
}
