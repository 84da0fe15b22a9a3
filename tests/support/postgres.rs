//! A fresh schema on a PostgreSQL server, for end-to-end tests with several daemons.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking, and each uses only a part"
)]

use super::daemon::LONG;
use super::seats::{self, Seat};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use std::time::Duration;

/// The server, unless `COUNTERSIGN_TEST_POSTGRES` names another.
const SERVER: &str = "postgres://postgres@127.0.0.1:5432/test";

/// A schema for one test.
pub struct Postgres {
    server: String,
    schema: String,
    _seat: Option<Seat>,
}

impl Postgres {
    /// Creates a schema; prints a note and returns `None` if there is no server. One that was named has to be.
    pub async fn fresh() -> Option<Self> {
        let named = std::env::var("COUNTERSIGN_TEST_POSTGRES").ok();
        let server = named.clone().unwrap_or(SERVER.to_owned());
        let seat = seats::POSTGRES.take().await;
        if let Err(error) = PgConnection::connect(&server).await {
            assert_eq!(named, None, "{error}");
            eprintln!("not tried on PostgreSQL: {error}");
            return None;
        }
        Some(Self { _seat: Some(seat), ..Self::on(server).await })
    }

    /// Creates a schema on a server of this test's own.
    pub async fn on(server: String) -> Self {
        let schema = format!("j_{:016x}", rand::random::<u64>());
        let fresh = Self { server, schema, _seat: None };
        fresh.execute(&format!("CREATE SCHEMA {}", fresh.schema)).await;
        fresh
    }

    /// The config of a daemon with its store in this schema.
    pub fn config(&self) -> String {
        format!("[store]\nurl = \"{}\"\n", self.url())
    }

    /// The URL with the schema in it.
    pub fn url(&self) -> String {
        let joint = if self.server.contains('?') { '&' } else { '?' };
        let Self { server, schema, .. } = self;
        // The application's name lets `end_connections` find the connections of this schema.
        format!("{server}{joint}options[search_path]={schema}&application_name={schema}")
    }

    /// Runs a statement on a connection of its own.
    pub async fn execute(&self, sql: &str) {
        let mut connection = PgConnection::connect(&self.server).await.unwrap();
        connection.execute(AssertSqlSafe(sql.to_owned())).await.unwrap();
    }

    /// The schema's name.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Queries a number from this schema.
    pub async fn number(&self, sql: &str) -> i64 {
        let mut connection = PgConnection::connect(&self.url()).await.unwrap();
        connection.fetch_one(AssertSqlSafe(sql.to_owned())).await.unwrap().get(0)
    }

    /// Waits until a number is as wanted: PostgreSQL cannot notify of it.
    pub async fn until(&self, sql: &str, wanted: impl Fn(i64) -> bool) {
        let since = std::time::Instant::now();
        let mut connection = PgConnection::connect(&self.url()).await.unwrap();
        loop {
            let row = connection.fetch_one(AssertSqlSafe(sql.to_owned())).await.unwrap();
            let number = row.get(0);
            if wanted(number) {
                return;
            }
            assert!(since.elapsed() < LONG, "{sql} stays {number}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Ends every connection to the schema, as a restart of the server does.
    pub async fn end_connections(&self) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name";
        self.execute(&format!("{sql} = '{}'", self.schema)).await;
    }

    /// Ends the leases of the chats, as if a daemon that was killed had been dead for that long.
    pub async fn end_leases(&self) {
        let chats = "name LIKE 'telegram/%' OR name LIKE 'discord/%'";
        self.execute(&format!("UPDATE {}.lease SET until_at = 0 WHERE {chats}", self.schema)).await;
    }

    /// Drops the schema.
    pub async fn drop(self) {
        self.execute(&format!("DROP SCHEMA {} CASCADE", self.schema)).await;
    }
}
