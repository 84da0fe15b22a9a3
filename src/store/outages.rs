//! Tests of the store while its server restarts, crashes or hangs, and while the connection is cut.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::{tests::new_ask, *};
use countersign_tokens::{ids, secret::Secret};
use futures::future::join_all;
use serde_json::Value;
use server::{Server, Stop};
use sqlx::{AssertSqlSafe, Connection, Executor, Row};
use std::{collections::BTreeSet, time::Duration};
use tokio::{sync::mpsc, time::timeout};

mod cut_line;
#[path = "../../tests/support/server.rs"]
mod server;

/// Shorter than a daemon's, so that a test does not wait as long for a cut connection.
const SHORT: ConnectionTimeouts = ConnectionTimeouts {
    patience: Duration::from_secs(2),
    longest: Duration::from_secs(3),
    silence: Duration::from_secs(3),
};
/// Longer than any operation here takes.
const LONG: Duration = Duration::from_secs(30);

async fn open(url: &str) -> Store {
    Store::open_within(&Database::Postgres(Secret::new(url)), SHORT).await.unwrap()
}

/// Opens every connection that the pool may have.
async fn all_connections(store: &Store) {
    // Eight queries that take a while need eight connections at once.
    let all = (0..8).map(async |_| store.one(sqlx::query("SELECT pg_sleep(0.1)")).await.map(drop));
    assert!(join_all(all).await.iter().all(Result::is_ok));
}

/// Waits until the server has a session in this state.
async fn until(server: &Server, session: &str) {
    let mut watching = sqlx::PgConnection::connect(&server.url()).await.unwrap();
    let count = format!("SELECT count(*) FROM pg_stat_activity WHERE {session}");
    let there = async {
        while watching.fetch_one(AssertSqlSafe(count.clone())).await.unwrap().get::<i64, _>(0) == 0
        {
            // The query above is the pause; PostgreSQL cannot notify of a session's state.
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, there).await.unwrap();
}

/// Appends an event, and runs `last` as the last step before the commit.
async fn note_and<F>(store: &Store, kind: &'static str, last: F) -> Result<(), StoreError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let noting = store.write(move |tx| {
        Box::pin(async move {
            log::append(tx, 1, kind, None, &Value::Null).await?;
            last.await;
            Ok(())
        })
    });
    timeout(LONG, noting).await.unwrap()
}

async fn note(store: &Store, kind: &'static str) -> Result<(), StoreError> {
    note_and(store, kind, async {}).await
}

async fn noted(store: &Store) -> Vec<String> {
    store.events_after(0, 100).await.unwrap().into_iter().map(|event| event.kind).collect()
}

/// Asserts that the operator sees an unavailable server; the wording depends on when it was lost.
fn is_away(store: &Store, error: &StoreError) {
    let trouble =
        Trouble::of(error, &store.database).unwrap_or_else(|| panic!("{error}: no trouble"));
    let shows = ["cannot be reached", "does not answer", "is not serving"];
    assert!(shows.iter().any(|words| trouble.says.contains(words)), "{trouble:?}");
    assert_eq!(trouble.fix, "see that PostgreSQL runs and that [store] url names it");
}

fn is_uncertain<T: std::fmt::Debug>(done: Result<T, StoreError>) -> bool {
    matches!(&done, Err(StoreError::Uncertain(_))) || panic!("{done:?} is not uncertain")
}

#[tokio::test]
async fn a_server_that_was_restarted_or_crashed_is_found_again_at_once() {
    let Some(server) = Server::start().await else { return };
    let store = open(&server.url()).await;
    for how in [Stop::Fast, Stop::Immediate] {
        // Opens every connection of the pool, so that all of them are lost.
        let busy = join_all((0..8).map(|_| note(&store, "before"))).await;
        assert!(busy.iter().all(Result::is_ok), "{busy:?}");
        server.stop(how).await;
        let error = note(&store, "during").await.unwrap_err();
        is_away(&store, &error);
        assert!(store.events_after(0, 1).await.is_err(), "{how:?}");
        server.start_again().await;
        let busy = join_all((0..8).map(|_| note(&store, "after"))).await;
        assert!(busy.iter().all(Result::is_ok), "{how:?}: {busy:?}");
    }
    let kinds = noted(&store).await;
    let count = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
    assert_eq!([count("before"), count("during"), count("after")], [16, 0, 16]);
    store.close().await;
}

#[tokio::test]
async fn what_comes_while_the_server_is_restarted_waits_for_it() {
    let Some(server) = Server::start().await else { return };
    // A daemon's own timeouts: the server takes a moment to start.
    let store = Store::open(&Database::Postgres(Secret::new(server.url()))).await.unwrap();
    server.stop(Stop::Fast).await;
    let (kept, ()) = tokio::join!(note(&store, "waited"), server.start_again());
    kept.unwrap();
    assert_eq!(noted(&store).await, ["waited"]);
    store.close().await;
}

#[tokio::test]
async fn connections_that_the_server_ended_are_all_given_up_with_the_first() {
    let Some(server) = Server::start().await else { return };
    let store = open(&server.url()).await;
    let other = open(&server.url()).await;
    all_connections(&store).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    other.all(sqlx::query(end)).await.unwrap();
    let error = note(&store, "first").await.unwrap_err();
    is_away(&store, &error);
    for _ in 0..8 {
        note(&store, "next").await.unwrap();
    }
    assert_eq!(noted(&store).await, ["next"; 8]);
}

#[tokio::test]
async fn a_commit_that_the_server_does_not_live_to_confirm_is_uncertain() {
    let Some(server) = Server::start().await else { return };
    let server = Arc::new(server);
    let store = open(&server.url()).await;
    for how in [Stop::Fast, Stop::Immediate] {
        let stopping = server.clone();
        let lost = note_and(&store, "lost", async move { stopping.stop(how).await }).await;
        assert!(is_uncertain(lost), "{how:?}");
        server.start_again().await;
        assert_eq!(noted(&store).await, [""; 0], "{how:?}");
    }
    note(&store, "next").await.unwrap();
    assert_eq!(noted(&store).await, ["next"]);
    store.close().await;
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_server_crashes_at_work() {
    let Some(server) = Server::start().await else { return };
    let store = open(&server.url()).await;
    let (told, mut heard) = mpsc::unbounded_channel();
    let writers = (0..16).map(|writer| {
        let store = store.clone();
        let told = told.clone();
        tokio::spawn(async move {
            for n in 0.. {
                let id = format!("ask{writer}-{n}");
                match store.insert_ask(&new_ask(&id, None, None), &[], None).await {
                    Ok(_) => told.send(id).unwrap(),
                    // Such an ask may be stored or not; both are correct.
                    Err(StoreError::Uncertain(_)) => return Some(id),
                    Err(_) => return None,
                }
            }
            None
        })
    });
    let writers: Vec<_> = writers.collect();
    // Only the writers hold a sender now, so the channel ends with the last of them.
    drop(told);
    let mut acknowledged = BTreeSet::new();
    while acknowledged.len() < 200 {
        acknowledged.insert(timeout(LONG, heard.recv()).await.unwrap().unwrap());
    }
    server.stop(Stop::Immediate).await;
    let ended = timeout(LONG, join_all(writers)).await.unwrap();
    while let Some(id) = heard.recv().await {
        acknowledged.insert(id);
    }
    let uncertain: BTreeSet<_> = ended.into_iter().filter_map(Result::unwrap).collect();
    server.start_again().await;
    let mut kept = BTreeSet::new();
    store.each_ask_in("open", |ask| kept.extend([ask.id.clone()])).await.unwrap();
    let lost: Vec<_> = acknowledged.difference(&kept).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let more: Vec<_> =
        kept.difference(&acknowledged).filter(|id| !uncertain.contains(*id)).collect();
    assert!(more.is_empty(), "kept, but refused: {more:?}");
    store.close().await;
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_in_time_and_works_when_it_goes_on() {
    let Some(server) = Server::start().await else { return };
    let store = open(&server.url()).await;
    note(&store, "before").await.unwrap();
    server.freeze(true);
    let error = note(&store, "during").await.unwrap_err();
    is_away(&store, &error);
    let read = timeout(LONG, store.events_after(0, 1)).await.unwrap();
    assert!(read.is_err(), "{read:?}");
    server.freeze(false);
    note(&store, "after").await.unwrap();
    assert_eq!(noted(&store).await, ["before", "after"]);
    store.close().await;
}
