#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;
use crate::{
    audit::{LogCheck, LogProblem, ProvenLog},
    store::engines::{Fresh, on_both},
};
use futures::future::join_all;
use serde_json::json;

fn key() -> Arc<SigningKey> {
    Arc::new(SigningKey::read(&SigningKey::generate().unwrap()).unwrap())
}

async fn note(store: &Store, at: i64, times: usize) {
    let notes = (0..times).map(|n| async move {
        store.note(at, "ruled", None, &json!({ "n": n, "text": "ü\u{1}\"" })).await.unwrap();
    });
    join_all(notes).await;
}

async fn seal(store: &Store, key: &Arc<SigningKey>) {
    while store.seal_log(key).await.unwrap().is_some() {}
}

/// Checks the log as an export has it.
async fn check(store: &Store) -> Result<ProvenLog, Vec<LogProblem>> {
    let mut check = LogCheck::new([], Vec::new());
    let mut page = store.log_page(0, None).await.unwrap().unwrap();
    let until = page.header.count;
    check.line(format!("{}\n", page.header.line()).as_bytes());
    loop {
        page.lines.iter().for_each(|line| check.line(format!("{}\n", line.line()).as_bytes()));
        let Some(next) = page.next else { return check.end() };
        page = store.log_page(next, Some(until)).await.unwrap().unwrap();
    }
}

async fn execute(store: &Store, statement: &'static str) {
    store.execute(sqlx::query(statement)).await.unwrap();
}

#[tokio::test]
async fn every_event_joins_the_chain_once_and_an_export_of_many_pages_is_proven() {
    on_both(async |store| {
        let key = key();
        assert_eq!(store.log_page(0, None).await.unwrap(), None);
        assert_eq!(store.seal_log(&key).await.unwrap(), None);
        note(&store, 1, 3).await;
        seal(&store, &key).await;
        assert_eq!(check(&store).await.unwrap().head.count, 3);
        note(&store, 2, 1_203).await;
        seal(&store, &key).await;
        let proven = check(&store).await.unwrap();
        assert_eq!((proven.head.count, proven.forgotten), (1_206, 0));
        assert!(proven.keys.iter().eq([&key.public()]));
        assert!(store.has_head(&proven.head).await.unwrap());
        let other = LogHead { hash: LogRow::origin("x"), ..proven.head };
        assert!(!store.has_head(&other).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn what_somebody_does_to_the_tables_is_found() {
    on_both(async |store| {
        note(&store, 1, 5).await;
        seal(&store, &key()).await;
        assert!(check(&store).await.is_ok());
        execute(&store, "UPDATE event SET data = '{}' WHERE seq = 2").await;
        assert_eq!(check(&store).await, Err(vec![LogProblem::Changed(2)]));
        execute(&store, "DELETE FROM event WHERE seq = 2").await;
        assert_eq!(check(&store).await, Err(vec![LogProblem::Missing(2, 2)]));
        execute(&store, "UPDATE event SET seq = 2 WHERE seq = 3").await;
        execute(&store, "UPDATE event SET seq = 3 WHERE seq = 4").await;
        let found = check(&store).await.unwrap_err();
        let wanted = [LogProblem::Changed(2), LogProblem::Changed(3), LogProblem::Missing(4, 4)];
        assert_eq!(found, wanted);
    })
    .await;
}

#[tokio::test]
async fn what_is_forgotten_leaves_its_hash_and_the_rest_is_proven() {
    on_both(async |store| {
        let key = key();
        note(&store, 1, 203).await;
        note(&store, 9, 4).await;
        seal(&store, &key).await;
        while store.forget_events(5).await.unwrap() > 0 {}
        // Before it is signed that they are forgotten, an export says that they are gone.
        assert_eq!(check(&store).await, Err(vec![LogProblem::Forgotten(203)]));
        seal(&store, &key).await;
        let proven = check(&store).await.unwrap();
        assert_eq!((proven.forgotten, proven.head.count), (203, 208));
        assert!(store.has_head(&LogHead { count: 7, hash: String::new() }).await.unwrap());
        // A row that somebody else deletes is not forgotten.
        execute(&store, "DELETE FROM event WHERE seq = 204").await;
        assert_eq!(check(&store).await, Err(vec![LogProblem::Missing(204, 204)]));
    })
    .await;
}

#[tokio::test]
async fn daemons_that_seal_at_the_same_time_make_one_chain() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let stores = join_all((0..3).map(|_| Store::open(&fresh.database))).await;
    let stores: Vec<_> = stores.into_iter().map(Result::unwrap).collect();
    let work = stores.iter().map(|store| async move {
        let key = key();
        for _ in 0..10 {
            note(store, 1, 7).await;
            seal(store, &key).await;
        }
    });
    join_all(work).await;
    let proven = check(stores.first().unwrap()).await.unwrap();
    assert_eq!(proven.head.count, 210);
    for store in stores {
        store.close().await;
    }
    fresh.drop().await;
}
