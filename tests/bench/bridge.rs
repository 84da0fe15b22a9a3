//! Speed of the bridge, in one table: `cargo bench --bench bridge`.
//!
//! The platform is a hand that presses at once, so its time is taken out; what a commit costs is
//! measured in the same run, on the same store. PostgreSQL is where `COUNTERSIGN_TEST_POSTGRES`
//! says (or `postgres://postgres@127.0.0.1:5432/test`), and is left out where none is.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench may panic, and prints"
)]

#[path = "bridge/desk.rs"]
mod desk;
#[path = "bridge/load.rs"]
mod load;

use countersign::{secret::Secret, store::Database};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    println!("{:<58} {:>12}  aim", "", "measured");
    println!("SQLite, WAL, synchronous = FULL");
    desk::speed(Database::Sqlite(folder.path().join("speed.db"))).await;
    match schema().await {
        Ok((database, mut connection, name)) => {
            println!("PostgreSQL, synchronous_commit = on");
            desk::speed(database).await;
            let gone = AssertSqlSafe(format!("DROP SCHEMA {name} CASCADE"));
            connection.execute(gone).await.unwrap();
        }
        Err(error) => println!("PostgreSQL left out: {error}"),
    }
    println!("The program itself, inbox only");
    load::weight(folder.path()).await;
}

/// A schema of its own on the server for tests.
async fn schema() -> Result<(Database, PgConnection, String), sqlx::Error> {
    let server = std::env::var("COUNTERSIGN_TEST_POSTGRES");
    let server = server.unwrap_or("postgres://postgres@127.0.0.1:5432/test".to_owned());
    let mut connection = PgConnection::connect(&server).await?;
    let name = format!("bench_{:08x}", rand::random::<u32>());
    connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).await?;
    let joint = if server.contains('?') { '&' } else { '?' };
    let url = format!("{server}{joint}options[search_path]={name}");
    Ok((Database::Postgres(Secret::new(url)), connection, name))
}

/// One line of the table.
pub fn line(what: &str, measured: String, aim: &str) {
    println!("  {what:<56} {measured:>12}  {aim}");
}
