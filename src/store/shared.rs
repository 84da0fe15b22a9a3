//! Hints between the daemons that share a PostgreSQL store: each learns that another changed it.
//!
//! A hint only announces that there may be something new, and it may be lost. A daemon reads the
//! rows after each hint, and also when it has received none for a while.

use super::{Store, engine::SqlDialect};
use sqlx::postgres::PgListener;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

const CHANNEL: &str = "countersign";
const PAUSE: Duration = Duration::from_secs(1);

impl Store {
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
            if let Err(error) = self.engine.first(hint.bind(CHANNEL).bind(&*self.name)).await {
                tracing::debug!(%error, "other daemons got no hint; they look by themselves");
            }
        }
    }

    async fn hear_hints(&self, heard: &Notify) {
        loop {
            if let Err(error) = self.listen(heard).await {
                tracing::debug!(%error, "no hints from other daemons; looking every second");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn listen(&self, heard: &Notify) -> Result<(), sqlx::Error> {
        let (url, silence) = (self.database.url(), self.engine.limits.silence);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::{engines::Fresh, tests::new_ask};

    #[tokio::test]
    async fn a_change_at_one_daemon_is_a_hint_at_another() {
        let Some(fresh) = Fresh::postgres().await else { return };
        let here = Store::open(&fresh.database).await.unwrap();
        let there = Store::open(&fresh.database).await.unwrap();
        let (stop, heard) = (CancellationToken::new(), Arc::new(Notify::new()));
        let carry = |store: &Store, heard: &Arc<Notify>| {
            let (store, heard, stop) = (store.clone(), heard.clone(), stop.clone());
            tokio::spawn(async move { store.carry_hints(heard, stop).await })
        };
        let carrying = [carry(&here, &Arc::default()), carry(&there, &heard)];
        // The other store starts to listen at some later time; each insert is a further hint.
        let mut n = 0;
        while timeout(Duration::from_millis(100), heard.notified()).await.is_err() {
            n += 1;
            here.insert_ask(&new_ask(&format!("ask{n}"), None, None), &[]).await.unwrap();
        }
        stop.cancel();
        futures::future::join_all(carrying).await;
        assert_eq!(there.asks_in("open", None).await.unwrap().asks.len(), n);
        here.close().await;
        there.close().await;
        fresh.drop().await;
    }
}
