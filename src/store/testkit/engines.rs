//! Creates a fresh store on each engine, for tests.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests fail by panicking")]
#[path = "../../../tests/support/seats.rs"]
mod seats;

use crate::{Database, LogSealer, Store};
use countersign_tokens::{clock, secret::Secret};
use seats::Seat;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use std::{sync::LazyLock, time::Instant};

/// The PostgreSQL server for tests, unless `COUNTERSIGN_TEST_POSTGRES` names another.
const SERVER: &str = "postgres://postgres@127.0.0.1:5432/test";

/// From now on the time of day of this process follows tokio's clock, so that advancing a paused clock
/// advances it too.
pub fn follow_tokio() {
    static START: LazyLock<(Instant, i64)> =
        LazyLock::new(|| (Instant::now(), clock::machine_ms()));
    LazyLock::force(&START);
    clock::go_by_instead(|| {
        let (start, at) = *START;
        let now = tokio::time::Instant::now().into_std();
        let ahead = now.saturating_duration_since(start);
        let behind = start.saturating_duration_since(now);
        let nanos = ahead.as_nanos() as i128 - behind.as_nanos() as i128;
        at + nanos.div_euclid(1_000_000) as i64
    });
}

/// A fresh, empty database of one engine; it is deleted when the test succeeds.
pub struct Fresh {
    pub database: Database,
    folder: Option<tempfile::TempDir>,
    _seat: Option<Seat>,
}

impl Fresh {
    pub fn sqlite() -> Self {
        follow_tokio();
        let folder = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(folder.path().join("test.db"));
        Self { database, folder: Some(folder), _seat: None }
    }

    /// Creates a schema of its own; prints a note and returns `None` if no server is available. One that was
    /// named has to be.
    pub async fn postgres() -> Option<Self> {
        follow_tokio();
        let named = std::env::var("COUNTERSIGN_TEST_POSTGRES").ok();
        let server = named.clone().unwrap_or(SERVER.to_owned());
        let seat = seats::POSTGRES.take().await;
        let mut connection = match PgConnection::connect(&server).await {
            Ok(connection) => connection,
            Err(error) => {
                assert_eq!(named, None, "{error}");
                eprintln!("not tried on PostgreSQL: {error}");
                return None;
            }
        };
        let schema = format!("t_{:016x}", rand::random::<u64>());
        connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {schema}"))).await.unwrap();
        let joint = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{joint}options[search_path]={schema}");
        let database = Database::Postgres(Secret::new(url));
        Some(Self { database, folder: None, _seat: Some(seat) })
    }

    pub async fn drop(self) {
        if let (None, Database::Postgres(url)) = (&self.folder, &self.database) {
            let (server, schema) = url.reveal().split_once("options[search_path]=").unwrap();
            let server = server.trim_end_matches(['?', '&']);
            let mut connection = PgConnection::connect(server).await.unwrap();
            let gone = AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"));
            connection.execute(gone).await.unwrap();
        }
    }
}

/// Runs a test on a fresh store of each engine.
pub async fn on_both(test: impl AsyncFn(Store)) {
    on(Fresh::sqlite(), &test).await;
    if let Some(fresh) = Fresh::postgres().await {
        on(fresh, &test).await;
    }
}

async fn on(fresh: Fresh, test: &impl AsyncFn(Store)) {
    let store = Store::open(&fresh.database).await.unwrap();
    test(store.clone()).await;
    store.close().await;
    fresh.drop().await;
}

impl Store {
    /// Seals its log with a key in a folder of its own.
    pub async fn sealed(&self) -> (LogSealer, tempfile::TempDir) {
        let state = tempfile::tempdir().unwrap();
        let sealer = LogSealer::open(self.clone(), state.path()).unwrap();
        sealer.check_known().await.unwrap();
        (sealer, state)
    }

    /// Changes the stored call of an ask, as a failing disk may.
    pub async fn damage(&self, ask: &str, from: &str, to: &str) {
        let damage = sqlx::query("UPDATE ask SET body = replace(body, $2, $3) WHERE id = $1");
        let damage = damage.bind(ask.to_owned()).bind(from.to_owned()).bind(to.to_owned());
        assert_eq!(self.execute(damage).await.unwrap(), 1);
    }

    /// Moves an ask `ms` milliseconds into the past, as a clock that jumps forward does.
    pub async fn shift(&self, ask: &str, ms: i64) {
        let shift = sqlx::query(
            "UPDATE ask SET created_at = created_at - $2, deadline_at = deadline_at - $2, \
             step_at = step_at - $2 WHERE id = $1",
        );
        assert_eq!(self.execute(shift.bind(ask.to_owned()).bind(ms)).await.unwrap(), 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_hour_of_a_paused_clock_is_an_hour_of_the_day() {
        follow_tokio();
        let before = clock::now_ms();
        tokio::time::advance(std::time::Duration::from_secs(3_600)).await;
        assert_eq!(clock::now_ms() - before, 3_600_000);
    }
}
