//! Tests of the store while the disk, the file or the server fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::{testkit::engines::Fresh, *};
use crate::tests::{answered, new_ask};
use countersign_domain::Decision;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor};
use std::{os::unix::fs::PermissionsExt, path::PathBuf};

async fn sqlite() -> (Store, Fresh) {
    let fresh = Fresh::sqlite();
    (Store::open(&fresh.database).await.unwrap(), fresh)
}

/// Runs a statement on the writer's own connection.
async fn pragma(store: &Store, sql: String) {
    let said = store.write(move |tx| {
        Box::pin(async move { Ok(tx.execute(AssertSqlSafe(sql)).await.map(drop)?) })
    });
    said.await.unwrap();
}

fn says_the_fix(trouble: &Trouble, words: &str) {
    assert!(trouble.says.contains(words), "{trouble:?}");
}

#[tokio::test]
async fn work_that_fails_is_undone_alone_and_its_neighbours_stand() {
    let (store, _fresh) = sqlite().await;
    let tries = (0..40).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            if n % 4 == 0 {
                let bad = store.write(|tx| {
                    Box::pin(async move {
                        tx.execute("INSERT INTO pulse (id, at) VALUES (7, 7)").await?;
                        Ok(tx.execute("INSERT INTO nowhere VALUES (1)").await.map(drop)?)
                    })
                });
                return bad.await.is_err();
            }
            let id = format!("ask{n}");
            matches!(
                store.insert_ask(&new_ask(&id, None, None), &[], None).await,
                Ok(Inserted::New(_))
            )
        })
    });
    for tried in futures::future::join_all(tries).await {
        assert!(tried.unwrap(), "every caller was told what became of its own work");
    }
    assert_eq!(store.asks_in("open", None).await.unwrap().asks.len(), 30);
    let left = store.one(sqlx::query("SELECT count(*) AS n FROM pulse")).await.unwrap();
    assert_eq!(sqlx::Row::try_get::<i64, _>(&left, "n").unwrap(), 0, "nothing half is left");
}

#[tokio::test]
async fn a_full_disk_changes_nothing_is_said_and_is_over_when_there_is_room() {
    let (store, _fresh) = sqlite().await;
    let Inserted::New(ask) =
        store.insert_ask(&new_ask("one", None, None), &[], None).await.unwrap()
    else {
        panic!("it is new")
    };
    // SQLite reports SQLITE_FULL at this limit, as on a full disk. The limit cannot fall below the
    // file's current size.
    pragma(&store, "PRAGMA max_page_count = 1".into()).await;
    let large = |n: usize| {
        let mut new = new_ask(&format!("large{n}"), None, None);
        new.body.why = "x".repeat(200_000);
        new
    };
    let tries = (0..8).map(|n| {
        let store = store.clone();
        let new = large(n);
        tokio::spawn(async move { store.insert_ask(&new, &[], None).await })
    });
    let mut kept = vec!["one".to_owned()];
    for (n, tried) in futures::future::join_all(tries).await.into_iter().enumerate() {
        match tried.unwrap() {
            Ok(_) => kept.push(format!("large{n}")),
            Err(error) => {
                says_the_fix(&Trouble::of(&error, &store.database).unwrap(), "has no room left");
            }
        }
    }
    assert!(kept.len() < 9, "the disk was full");
    let ids = store.asks_in("open", None).await.unwrap().asks.into_iter().map(|ask| ask.id);
    let mut ids: Vec<_> = ids.collect();
    ids.sort();
    kept.sort();
    assert_eq!(ids, kept, "what was acknowledged was kept, and nothing else");
    assert_eq!(store.ask("one").await.unwrap(), Some(ask));

    pragma(&store, "PRAGMA max_page_count = 1000000".into()).await;
    assert!(matches!(store.insert_ask(&large(9), &[], None).await.unwrap(), Inserted::New(_)));
    assert_eq!(store.probe().await, None);
}

#[tokio::test]
async fn a_disk_that_became_read_only_acknowledges_nothing() {
    let (store, _fresh) = sqlite().await;
    let Inserted::New(ask) =
        store.insert_ask(&new_ask("one", None, None), &[], None).await.unwrap()
    else {
        panic!("it is new")
    };
    // Writes then fail with SQLITE_READONLY, as on a disk that turned read-only.
    pragma(&store, "PRAGMA query_only = ON".into()).await;
    let end = answered(Decision::Approve, 5);
    let error = store.close_ask(&ask, &end, &[]).await.unwrap_err();
    says_the_fix(&Trouble::of(&error, &store.database).unwrap(), "cannot be written");
    assert_eq!(store.ask("one").await.unwrap(), Some(ask), "it can still be read, and is open");
}

#[tokio::test]
async fn a_lock_held_by_another_program_is_named_and_passes() {
    let (store, fresh) = sqlite().await;
    let mut other = AnyConnection::connect(&fresh.database.url()).await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    says_the_fix(&store.probe().await.unwrap(), "is locked by another program");
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(store.probe().await, None);
}

#[tokio::test]
async fn one_file_has_one_daemon() {
    let (_store, fresh) = sqlite().await;
    let second = Store::open(&fresh.database).await.unwrap_err().to_string();
    assert!(second.contains("another countersign has"), "{second}");
}

#[tokio::test]
async fn what_is_no_database_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no.db");
    std::fs::write(&file, "this is no database, but it is long enough to look like a file")
        .unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let error = refused(file).await;
    assert!(error.contains("not a database"), "{error}");
}

#[tokio::test]
async fn a_store_of_a_later_version_is_refused_at_the_start_with_what_to_do() {
    for fresh in [Some(Fresh::sqlite()), Fresh::postgres().await].into_iter().flatten() {
        let store = Store::open(&fresh.database).await.unwrap();
        let later = store.execute(sqlx::query(
            "INSERT INTO _sqlx_migrations \
             (version, description, success, checksum, execution_time) \
             SELECT 999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1",
        ));
        later.await.unwrap();
        store.close().await;
        drop(store);
        let error = Store::open(&fresh.database).await.unwrap_err().to_string();
        assert!(error.contains("written by a newer countersign"), "{error}");
        fresh.drop().await;
    }
}

async fn refused(file: PathBuf) -> String {
    Store::open(&Database::Sqlite(file)).await.unwrap_err().to_string()
}

#[tokio::test]
async fn connections_that_the_server_ends_are_replaced() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let store = Store::open(&fresh.database).await.unwrap();
    assert_eq!(store.probe().await, None);
    let ended = store.write(|tx| {
        Box::pin(async move {
            let ended = "SELECT pg_terminate_backend(pg_backend_pid())";
            Ok(tx.execute(ended).await.map(drop)?)
        })
    });
    says_the_fix(&Trouble::of(&ended.await.unwrap_err(), &store.database).unwrap(), "not serving");
    assert_eq!(store.probe().await, None, "the next piece of work goes well");
    store.close().await;
    fresh.drop().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_its_password() {
    let nobody = Database::Postgres(countersign_tokens::secret::Secret::new(
        "postgres://u:hush@127.0.0.1:1/d",
    ));
    let error = Store::open(&nobody).await.unwrap_err();
    let trouble = Trouble::of(&error, &nobody).unwrap();
    says_the_fix(&trouble, "postgres://u@127.0.0.1:1/d cannot be reached");
    assert!(!format!("{trouble:?}{error}{error:?}").contains("hush"));
}
