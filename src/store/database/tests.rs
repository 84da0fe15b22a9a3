#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
use super::{private::beside, *};
use crate::{Store, Trouble, testkit::engines::Fresh, tests::new_ask};
use futures::future::join_all;
use std::fs;
use tempfile::TempDir;

fn read(text: &str) -> Result<Database, String> {
    Database::read(text, |file| Path::new("/here").join(file))
}

#[test]
fn a_store_is_a_file_or_a_server_and_nothing_else() {
    assert_eq!(read("sqlite:a.db"), Ok(Database::Sqlite("/here/a.db".into())));
    assert_eq!(read("sqlite:///x/a.db"), Ok(Database::Sqlite("/x/a.db".into())));
    assert!(matches!(read("postgres://a:b@c/d"), Ok(Database::Postgres(_))));
    for no in ["sqlite:", "sqlite::memory:", "mysql://a:secret@c/d", "a.db", ""] {
        let wanted = "must be \"sqlite:FILE\" or \"postgres://USER@HOST/DATABASE\"";
        assert_eq!(read(no), Err(wanted.into()), "{no}");
    }
}

#[test]
fn the_password_of_a_database_is_never_shown() {
    let database = read("postgres://ana:hunter2@db.example:5433/asks?password=hunter2").unwrap();
    assert_eq!(database.to_string(), "postgres://ana@db.example:5433/asks");
    assert!(!format!("{database:?}").contains("hunter2"));
    assert_eq!(database.address(), Some("db.example:5433".into()));
}

#[test]
fn every_file_name_reaches_the_driver_whole() {
    let database = Database::Sqlite("/a b/50%?#ü.db".into());
    assert_eq!(database.url(), "sqlite:///a%20b/50%25%3F%23%C3%BC.db?mode=rwc");
}

#[tokio::test]
async fn a_store_that_was_there_and_is_gone_is_refused_on_both_engines() {
    for fresh in [Some(Fresh::sqlite()), Fresh::postgres().await].into_iter().flatten() {
        let state = tempfile::tempdir().unwrap();
        let first = Remembered::read(state.path()).unwrap();
        let store = Store::open_as(&fresh.database, &first).await.unwrap();
        first.keep(store.id()).unwrap();
        let id = store.id().to_owned();
        store.close().await;
        drop(store);

        let known = Remembered::read(state.path()).unwrap();
        let again = Store::open_as(&fresh.database, &known).await.unwrap();
        assert_eq!(again.id(), id);
        again.close().await;
        drop(again);

        std::fs::write(state.path().join(FILE), "zzzzzzzz\n").unwrap();
        let other = Remembered::read(state.path()).unwrap();
        let error = Store::open_as(&fresh.database, &other).await.unwrap_err();
        assert!(matches!(&error, StoreError::Another { found, .. } if *found == id), "{error}");
        fresh.drop().await;
    }
    let empty = [Some(Fresh::sqlite()), Fresh::postgres().await];
    for fresh in empty.into_iter().flatten() {
        let state = tempfile::tempdir().unwrap();
        std::fs::write(state.path().join(FILE), "k8xd8s4n").unwrap();
        let known = Remembered::read(state.path()).unwrap();
        let error = Store::open_as(&fresh.database, &known).await.unwrap_err();
        assert!(matches!(error, StoreError::Gone { .. }), "{error}");
        if let Some(file) = fresh.database.file() {
            assert!(!file.exists(), "nothing is made");
        }
        let anew = Remembered::nothing(state.path());
        Store::open_as(&fresh.database, &anew).await.unwrap().close().await;
        fresh.drop().await;
    }
}

#[test]
fn a_marker_that_cannot_be_read_is_no_first_start() {
    let state = tempfile::tempdir().unwrap();
    for text in ["", "x", "k8xd8s4n k8xd8s4n"] {
        std::fs::write(state.path().join(FILE), text).unwrap();
        assert!(Remembered::read(state.path()).is_err(), "{text:?}");
    }
}

#[tokio::test]
async fn a_store_keeps_its_id_and_no_other_store_has_it() {
    let one = Fresh::sqlite();
    let two = Fresh::sqlite();
    let first = Store::open(&one.database).await.unwrap();
    let id = first.id().to_owned();
    assert_eq!(id.len(), 8);
    assert!(id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{id}");
    first.close().await;
    drop(first);
    assert_eq!(Store::open(&one.database).await.unwrap().id(), id);
    assert_ne!(Store::open(&two.database).await.unwrap().id(), id);
}

#[tokio::test]
async fn daemons_that_start_at_once_on_a_new_database_agree_on_its_id() {
    let Some(fresh) = Fresh::postgres().await else { return };
    Store::open(&fresh.database).await.unwrap().close().await;
    let stores = join_all((0..4).map(|_| Store::open(&fresh.database))).await;
    let stores: Vec<_> = stores.into_iter().map(Result::unwrap).collect();
    let first = stores.iter().map(Store::id).next().unwrap().to_owned();
    assert!(stores.iter().all(|store| store.id() == first));
    join_all(stores.iter().map(Store::close)).await;
    fresh.drop().await;
}

/// Leaves the files of a daemon that was killed after it stored some asks.
async fn killed(asks: usize) -> (TempDir, Database) {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    for n in 0..asks {
        store.insert_ask(&new_ask(&format!("ask{n}"), None, None), &[], None).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let from = fresh.database.file().unwrap();
    let to = folder.path().join("store.db");
    for end in ["", "-wal", "-shm"] {
        fs::copy(beside(from, end), beside(&to, end)).unwrap();
    }
    store.close().await;
    (folder, Database::Sqlite(to))
}

async fn asks(database: &Database) -> usize {
    let store = Store::open(database).await.unwrap();
    let asks = store.asks_in("open", None).await.unwrap().asks.len();
    store.close().await;
    asks
}

/// The trouble that an operator sees when a daemon starts on this file.
async fn refused(database: &Database) -> Trouble {
    Trouble::of(&Store::open(database).await.unwrap_err(), database).unwrap()
}

#[tokio::test]
async fn what_a_killed_daemon_leaves_is_whole() {
    let (_folder, database) = killed(20).await;
    let file = database.file().unwrap();
    assert!(Committed::in_index(&beside(file, "-shm")).unwrap().frames > 20);
    assert_eq!(asks(&database).await, 20);
}

#[tokio::test]
async fn a_write_ahead_log_that_is_cut_damaged_or_gone_is_refused_every_time() {
    for damage in ["cut", "flipped", "empty", "gone"] {
        let (_folder, database) = killed(20).await;
        let log = beside(database.file().unwrap(), "-wal");
        let mut bytes = fs::read(&log).unwrap();
        let middle = bytes.len() / 2;
        let whole = bytes.clone();
        match damage {
            "cut" => bytes.truncate(middle),
            "flipped" => bytes[middle] ^= 1,
            _ => bytes.clear(),
        }
        fs::write(&log, bytes).unwrap();
        if damage == "gone" {
            fs::remove_file(&log).unwrap();
        }
        for _ in 0..2 {
            let trouble = refused(&database).await;
            assert!(trouble.says.contains("store.db-wal"), "{damage}: {trouble:?}");
            assert!(trouble.fix.contains("backup"), "{damage}: {trouble:?}");
        }
        fs::write(&log, whole).unwrap();
        assert_eq!(asks(&database).await, 20, "{damage}: it was left as it was");
    }
}

#[tokio::test]
async fn without_its_index_a_file_starts_with_what_is_left() {
    let (_folder, database) = killed(20).await;
    let log = beside(database.file().unwrap(), "-wal");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() - 4_096]).unwrap();
    let trouble = refused(&database).await;
    let index = beside(database.file().unwrap(), "-shm");
    assert!(trouble.fix.contains(&index.display().to_string()), "{trouble:?}");
    fs::remove_file(index).unwrap();
    assert_eq!(asks(&database).await, 19);
}

#[tokio::test]
async fn a_page_that_was_overwritten_is_found_at_the_start() {
    let (_folder, database) = killed(200).await;
    assert_eq!(asks(&database).await, 200);
    let file = database.file().unwrap();
    let sound = fs::read(file).unwrap();
    let pages = sound.len() / 4_096;
    let mut found = 0;
    for page in 1..pages {
        let mut bytes = sound.clone();
        bytes[page * 4_096..][..2_048].fill(0x5a);
        fs::write(file, bytes).unwrap();
        match Store::open(&database).await {
            Ok(store) => store.close().await,
            Err(error) => {
                let trouble = Trouble::of(&error, &database).unwrap();
                assert!(trouble.says.contains("store.db is damaged"), "{trouble:?}");
                assert!(trouble.fix.contains("put a backup in its place"), "{trouble:?}");
                found += 1;
            }
        }
    }
    assert_eq!(found, pages - 1, "every page is looked at");
}
