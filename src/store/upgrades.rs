//! Stores of every earlier version of the tables: they open, and what waited in them waits on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::{
    Closed, Database, Store, StoreError,
    connection::{SqlDialect, connect},
    engines::Fresh,
    migrations,
};
use crate::ask::{Answer, By, Decision, Scope, State};
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};
use std::{fs, path::Path};

/// The rows of the first version, which every later version keeps. The digest is of this call.
const ROWS: &str = include_str!("../../tests/vectors/stores/rows.sql");
/// The time of these rows.
const THEN: i64 = 1_795_250_000_000;

async fn connected(fresh: &Fresh) -> (AnyConnection, SqlDialect) {
    sqlx::any::install_default_drivers();
    let dialect = match &fresh.database {
        Database::Sqlite(_) => SqlDialect::Sqlite,
        Database::Postgres(_) => SqlDialect::Postgres,
    };
    let options = fresh.database.url().parse().unwrap();
    (connect(&options, dialect).await.unwrap(), dialect)
}

async fn engines() -> impl Iterator<Item = Fresh> {
    [Some(Fresh::sqlite()), Fresh::postgres().await].into_iter().flatten()
}

/// The asks of the earlier version wait, its card answers, its grants hold and no revoked one does.
async fn serves(store: &Store, from: &str) {
    assert_eq!(store.count_open().await.unwrap(), 2, "{from}");
    let ask = store.ask_of_card("nonce-of-waits", "telegram", Some("4711")).await.unwrap().unwrap();
    assert_eq!((ask.id.as_str(), &ask.state), ("waitsfor", &State::Open), "{from}");
    let grants = store.grants(THEN).await.unwrap();
    let grants: Vec<_> = grants.iter().map(|grant| grant.id.as_str()).collect();
    assert_eq!(grants, ["granted1"], "{from}");
    let by = By::Person { platform: "telegram".into(), id: "42".into(), name: "Ana".into() };
    let yes = Answer { scope: Some(Scope::Once), ..Answer::new(Decision::Approve, by, THEN) };
    let closed = store.close_ask(&ask, &State::Answered(yes), &[]).await.unwrap();
    assert!(matches!(closed, Closed::Won(_)), "{from}: {closed:?}");
    // The deadline of the other one has passed.
    assert_eq!(store.next_deadline().await.unwrap(), Some(THEN + 60_000), "{from}");
    let events = store.events_after(0, 9).await.unwrap();
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["asked", "asked", "answered"], "{from}");
}

#[tokio::test]
async fn a_store_of_every_earlier_version_opens_and_its_asks_wait_on() {
    for step in 1..=migrations::LATEST {
        for fresh in engines().await {
            let (mut connection, dialect) = connected(&fresh).await;
            migrations::up_to(&mut connection, dialect, step).await.unwrap();
            connection.execute(sqlx::raw_sql(ROWS)).await.unwrap();
            connection.close().await.unwrap();
            let store = Store::open(&fresh.database).await.unwrap();
            serves(&store, &format!("step {step}, {dialect:?}")).await;
            store.close().await;
            fresh.drop().await;
        }
    }
}

#[tokio::test]
async fn a_released_step_is_as_it_was_released() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/stores");
    let mut opened = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("step-") {
            continue;
        }
        let fresh = Fresh::sqlite();
        let (mut connection, _) = connected(&fresh).await;
        let dump = AssertSqlSafe(fs::read_to_string(&path).unwrap());
        connection.execute(sqlx::raw_sql(dump)).await.unwrap();
        // sqlx compares the checksums in the dump with the steps of this program.
        let latest = migrations::LATEST;
        migrations::up_to(&mut connection, SqlDialect::Sqlite, latest).await.unwrap();
        connection.close().await.unwrap();
        let store = Store::open(&fresh.database).await.unwrap();
        serves(&store, &name).await;
        store.close().await;
        opened += 1;
    }
    assert_eq!(opened, 2);
}

#[tokio::test]
async fn a_store_of_a_newer_version_is_refused_and_left_as_it_is() {
    for fresh in engines().await {
        Store::open(&fresh.database).await.unwrap().close().await;
        let (mut connection, dialect) = connected(&fresh).await;
        let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, \
                     execution_time) SELECT 9999, 'newer', success, checksum, 0 \
                     FROM _sqlx_migrations WHERE version = 1";
        connection.execute(newer).await.unwrap();
        let error = Store::open(&fresh.database).await.unwrap_err();
        assert!(matches!(error, StoreError::Newer(9999)), "{dialect:?}: {error}");
        let said = "the store was written by a newer countersign (its tables are at step 9999); \
                    start that version, or put a backup of this version in its place";
        assert_eq!(error.to_string(), said);
        connection.close().await.unwrap();
        fresh.drop().await;
    }
}

#[tokio::test]
async fn a_daemon_whose_tables_a_newer_one_changed_reads_on_and_writes_nothing_more() {
    for fresh in engines().await {
        let store = Store::open(&fresh.database).await.unwrap();
        store.check_tables().await.unwrap();
        assert_eq!(store.probe().await, None);
        let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, \
                     execution_time) SELECT 9999, 'newer', success, checksum, 0 \
                     FROM _sqlx_migrations WHERE version = 1";
        store.execute(sqlx::query(newer)).await.unwrap();
        store.check_tables().await.unwrap();
        let trouble = store.probe().await.unwrap();
        let says = format!(
            "a newer countersign has changed the tables (step 9999; this daemon knows {}), so this \
             one writes nothing more",
            migrations::latest()
        );
        assert_eq!(trouble.says, says);
        assert_eq!(trouble.fix, "update this daemon too, and restart it");
        let length = std::time::Duration::from_secs(9);
        let leads = store.take_lease("bot", "one", length).await;
        assert!(matches!(leads, Err(StoreError::Outdated { step: 9999, .. })), "{leads:?}");
        assert_eq!(store.count_open().await.unwrap(), 0);
        store.close().await;
        fresh.drop().await;
    }
}
