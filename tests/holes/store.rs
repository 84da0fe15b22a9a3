//! Row 19: a store that was there and is gone is an error that says what to do; nobody else may
//! read or exchange its files.

use crate::{
    daemon::{Daemon, shell},
    postgres::Postgres,
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

fn file(daemon: &Daemon, name: &str) -> PathBuf {
    daemon.dir.path().join("state").join(name)
}

/// What `serve` says when it does not start.
async fn refused(daemon: &Daemon) -> String {
    let served = daemon.command(&["serve"]).output();
    let ended = tokio::time::timeout(crate::daemon::LONG, served).await;
    let ended = ended.expect("it ends by itself").unwrap();
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{ended:?}");
    String::from_utf8(ended.stderr).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

const NAMES: [&str; 3] = ["countersign.db", "countersign.db-wal", "countersign.db-shm"];

/// The store's files as they are.
fn kept(daemon: &Daemon) -> Vec<(PathBuf, Vec<u8>)> {
    let all = NAMES.map(|name| file(daemon, name)).into_iter();
    all.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect()
}

fn put_back(daemon: &Daemon, kept: &[(PathBuf, Vec<u8>)]) {
    NAMES.into_iter().for_each(|name| drop(fs::remove_file(file(daemon, name))));
    for (path, bytes) in kept {
        fs::write(path, bytes).unwrap();
    }
}

#[tokio::test]
async fn row_19_a_store_that_is_gone_or_emptied_is_an_error_and_nothing_is_made() {
    let mut daemon = Daemon::start("").await;
    let ask = daemon.ask(&shell("git push")).await;
    daemon.kill().await;
    let kept = kept(&daemon);
    assert_eq!(kept.len(), 3, "a killed daemon leaves its log");
    let [database, log, index] = NAMES.map(|name| file(&daemon, name));
    let gone: [(&str, &dyn Fn()); 4] = [
        ("the file is gone, and only", &|| fs::remove_file(&database).unwrap()),
        ("the file is empty, and only", &|| fs::write(&database, "").unwrap()),
        ("there is no such file", &|| {
            [&database, &log, &index].into_iter().for_each(|path| fs::remove_file(path).unwrap());
        }),
        ("the file is empty", &|| {
            fs::write(&database, "").unwrap();
            [&log, &index].into_iter().for_each(|path| fs::remove_file(path).unwrap());
        }),
    ];
    for (words, lose) in gone {
        put_back(&daemon, &kept);
        lose();
        let left = database.exists();
        for _ in 0..2 {
            let said = refused(&daemon).await;
            assert!(said.contains(words) && said.contains("is gone"), "{said}");
            assert!(said.contains("backup") && said.contains("serve --new-store"), "{said}");
            assert_eq!(database.exists(), left, "nothing is made");
            assert!(database.metadata().map_or(0, |found| found.len()) == 0);
        }
    }
    put_back(&daemon, &kept);
    daemon.run().await;
    assert_eq!(daemon.read(&ask).await["state"], "open", "put back, it goes on");
}

#[tokio::test]
async fn row_19_another_store_in_its_place_is_an_error() {
    let (mut one, mut two) = (Daemon::start("").await, Daemon::start("").await);
    one.ask(&shell("git push")).await;
    assert!(one.stop().await && two.stop().await);
    let own = fs::read(file(&one, NAMES[0])).unwrap();
    fs::copy(file(&two, NAMES[0]), file(&one, NAMES[0])).unwrap();
    let said = refused(&one).await;
    assert!(said.contains("is not the store that was there"), "{said}");
    assert!(said.contains("store.id") && said.contains("--new-store"), "{said}");
    fs::write(file(&one, "store.id"), "").unwrap();
    let said = refused(&one).await;
    assert!(said.contains("holds no id of a store"), "{said}");
    fs::copy(file(&two, "store.id"), file(&one, "store.id")).unwrap();
    one.run().await;
    assert!(one.stop().await);
    fs::write(file(&one, NAMES[0]), own).unwrap();
    assert!(refused(&one).await.contains("is not the store that was there"));
}

#[tokio::test]
async fn row_19_new_store_starts_afresh_and_keeps_what_is_left() {
    let mut daemon = Daemon::start("").await;
    daemon.ask(&shell("git push")).await;
    daemon.kill().await;
    let log = fs::read(file(&daemon, NAMES[1])).unwrap();
    fs::remove_file(file(&daemon, NAMES[0])).unwrap();
    refused(&daemon).await;
    daemon.run_with(&["--new-store"]).await;
    daemon.says("what was left of the store was moved here").await;
    assert!(daemon.open().await.is_empty());
    let entries = fs::read_dir(file(&daemon, "")).unwrap().map(|entry| entry.unwrap().path());
    let aside = |path: &PathBuf| path.display().to_string().contains("db-wal.left-");
    assert_eq!(fs::read(entries.into_iter().find(aside).unwrap()).unwrap(), log);
    let ask = daemon.ask(&shell("git push two")).await;
    assert!(daemon.stop().await);
    daemon.run().await;
    assert_eq!(daemon.read(&ask).await["state"], "open", "it is the store from then on");
    // Left in a unit it takes nothing away.
    assert!(daemon.stop().await);
    daemon.run_with(&["--new-store"]).await;
    assert_eq!(daemon.read(&ask).await["state"], "open");
}

#[tokio::test]
async fn row_19_a_backup_is_put_back_without_a_word() {
    let mut daemon = Daemon::start("").await;
    let ask = daemon.ask(&shell("git push")).await;
    let copy = daemon.dir.path().join("copy.db");
    let backup = daemon.command(&["backup", copy.to_str().unwrap()]).output().await.unwrap();
    assert!(backup.status.success(), "{backup:?}");
    daemon.ask(&shell("git push two")).await;
    daemon.kill().await;
    NAMES.into_iter().for_each(|name| fs::remove_file(file(&daemon, name)).unwrap());
    refused(&daemon).await;
    fs::copy(&copy, file(&daemon, NAMES[0])).unwrap();
    daemon.run().await;
    let open = daemon.open().await;
    assert_eq!((open.len(), open[0]["id"].as_str()), (1, Some(&*ask)));
}

#[tokio::test]
async fn row_19_files_and_folders_are_closed_whatever_was_there_before() {
    let mut daemon = Daemon::start("").await;
    daemon.ask(&shell("git push")).await;
    daemon.kill().await;
    let state = file(&daemon, "");
    set_mode(&state, 0o777);
    NAMES.into_iter().for_each(|name| set_mode(&file(&daemon, name), 0o666));
    set_mode(&file(&daemon, "countersign.db.lock"), 0o644);
    daemon.run().await;
    daemon.says("it is closed to them now").await;
    daemon.ask(&shell("git push two")).await;
    assert_eq!(mode(&state), 0o700);
    for entry in fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn row_19_the_first_start_is_private_whatever_the_umask_is() {
    let mut daemon = Daemon::start("").await;
    assert!(daemon.stop().await);
    fs::remove_dir_all(file(&daemon, "")).unwrap();
    daemon.run_under("000").await;
    daemon.ask(&shell("git push")).await;
    assert_eq!(mode(&file(&daemon, "")), 0o700);
    for name in NAMES.into_iter().chain(["store.id", "countersign.db.lock"]) {
        assert_eq!(mode(&file(&daemon, name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn row_19_a_link_in_the_place_of_a_file_is_refused() {
    let mut daemon = Daemon::start("").await;
    assert!(daemon.stop().await);
    let (database, elsewhere) = (file(&daemon, NAMES[0]), daemon.dir.path().join("elsewhere.db"));
    fs::rename(&database, &elsewhere).unwrap();
    symlink(&elsewhere, &database).unwrap();
    assert!(refused(&daemon).await.contains("countersign.db is a link"));
    fs::remove_file(&database).unwrap();
    fs::rename(&elsewhere, &database).unwrap();
    let target = daemon.dir.path().join("target");
    fs::write(&target, "mine").unwrap();
    symlink(&target, file(&daemon, NAMES[1])).unwrap();
    assert!(refused(&daemon).await.contains("countersign.db-wal is a link"));
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
}

#[tokio::test]
async fn row_19_an_emptied_postgresql_database_is_an_error_too() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let mut daemon = Daemon::start(&postgres.config()).await;
    daemon.ask(&shell("git push")).await;
    assert!(daemon.stop().await);
    let schema = postgres.schema();
    postgres.execute(&format!("DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")).await;
    let said = refused(&daemon).await;
    assert!(said.contains("the database holds no store") && said.contains("--new-store"), "{said}");
    let tables = format!("SELECT count(*) FROM pg_tables WHERE schemaname = '{schema}'");
    assert_eq!(postgres.number(&tables).await, 0, "nothing is made");
    daemon.run_with(&["--new-store"]).await;
    assert!(daemon.open().await.is_empty());
    assert!(daemon.stop().await);
    daemon.run().await;
    drop(daemon);
    postgres.drop().await;
}
