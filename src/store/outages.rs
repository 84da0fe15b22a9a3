//! The store while its server is restarted, crashes or hangs, or the line to it is cut.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::{tests::new_ask, *};
use crate::{ids, secret::Secret};
use futures::future::join_all;
use line::{Line, Loses};
use serde_json::Value;
use server::{Server, Stop};
use std::{collections::BTreeSet, time::Duration};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

#[path = "../../tests/support/line.rs"]
mod line;
#[path = "../../tests/support/server.rs"]
mod server;

/// Nobody wants to wait for a cut line as long as a daemon does.
const SHORT: Limits = Limits {
    patience: Duration::from_secs(1),
    longest: Duration::from_secs(2),
    silence: Duration::from_secs(1),
};
/// Longer than anything here may take.
const LONG: Duration = Duration::from_secs(30);

async fn open(url: &str) -> Store {
    Store::open_within(&Database::Postgres(Secret::new(url)), SHORT).await.unwrap()
}

/// A store over a line that can be cut.
async fn over_a_line(server: &Server) -> (Store, Line) {
    let line = Line::to(&server.url()).await;
    (open(&line.url).await, line)
}

/// Notes something, and does this as the last thing before the commit.
async fn note_and<F>(store: &Store, kind: &'static str, last: F) -> Result<(), StoreError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let noting = store.write(move |tx| {
        Box::pin(async move {
            events::append(tx, 1, kind, None, &Value::Null).await?;
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

/// The operator is told that the server is not to be had; it depends on the moment how that shows.
fn is_away(store: &Store, error: &StoreError) {
    let trouble =
        Trouble::of(error, &store.database).unwrap_or_else(|| panic!("{error}: no trouble"));
    let shows = ["cannot be reached", "does not answer", "is not serving"];
    assert!(shows.iter().any(|words| trouble.says.contains(words)), "{trouble:?}");
    assert_eq!(trouble.mend, "see that PostgreSQL runs and that [store] url names it");
}

fn is_uncertain<T: std::fmt::Debug>(done: Result<T, StoreError>) -> bool {
    matches!(&done, Err(StoreError::Uncertain(_))) || panic!("{done:?} is not uncertain")
}

#[tokio::test]
async fn a_server_that_was_restarted_or_crashed_is_found_again_at_once() {
    let Some(server) = Server::start().await else { return };
    let store = open(&server.url()).await;
    for how in [Stop::Fast, Stop::Immediate] {
        // Every connection of the pool is there to be lost.
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
async fn connections_that_the_server_ended_are_all_given_up_with_the_first() {
    let Some(server) = Server::start().await else { return };
    let (store, other) = (open(&server.url()).await, open(&server.url()).await);
    let all = (0..8).map(async |_| store.one(sqlx::query("SELECT pg_sleep(0.1)")).await.map(drop));
    let all = join_all(all).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
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
        let (store, told) = (store.clone(), told.clone());
        tokio::spawn(async move {
            for n in 0.. {
                let id = format!("ask{writer}-{n}");
                match store.insert_ask(&new_ask(&id, None, None), &[]).await {
                    Ok(_) => told.send(id).unwrap(),
                    Err(StoreError::Uncertain(_)) => return Some(id),
                    Err(_) => return None,
                }
            }
            None
        })
    });
    let writers: Vec<_> = writers.collect();
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

#[tokio::test]
async fn a_line_that_is_cut_in_a_query_ends_it_in_time_and_is_replaced() {
    let Some(server) = Server::start().await else { return };
    let (store, line) = over_a_line(&server).await;
    let reading = tokio::spawn({
        let store = store.clone();
        async move { store.one(sqlx::query("SELECT pg_sleep(60)")).await.map(drop) }
    });
    let watching = open(&server.url()).await;
    let asleep = "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    let count = async || watching.one(sqlx::query(asleep)).await.unwrap();
    while sqlx::Row::get::<i64, _>(&count().await, "n") == 0 {
        tokio::task::yield_now().await;
    }
    line.loses(Loses::Everything);
    let read = timeout(LONG, reading).await.unwrap().unwrap();
    assert!(matches!(read, Err(StoreError::Late)), "{read:?}");
    line.loses(Loses::Nothing);
    note(&store, "after").await.unwrap();
    assert_eq!(noted(&store).await, ["after"]);
}

#[tokio::test]
async fn connections_that_went_silent_are_all_given_up_with_the_first() {
    let Some(server) = Server::start().await else { return };
    let (store, line) = over_a_line(&server).await;
    let all = (0..8).map(async |_| store.one(sqlx::query("SELECT pg_sleep(0.1)")).await.map(drop));
    let all = join_all(all).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    line.loses(Loses::Everything);
    let error = note(&store, "during").await.unwrap_err();
    is_away(&store, &error);
    line.loses(Loses::Nothing);
    note(&store, "after").await.unwrap();
    assert_eq!(noted(&store).await, ["after"]);
}

#[tokio::test]
async fn a_commit_on_a_line_that_is_cut_is_uncertain_whether_it_arrived_or_not() {
    let Some(server) = Server::start().await else { return };
    for (loses, arrives) in [(Loses::Everything, false), (Loses::Answers, true)] {
        let (store, line) = over_a_line(&server).await;
        let line = Arc::new(line);
        let cutting = line.clone();
        let kind = if arrives { "arrived" } else { "lost" };
        let cut = note_and(&store, kind, async move { cutting.loses(loses) }).await;
        assert!(is_uncertain(cut), "{loses:?}");
        line.loses(Loses::Nothing);
        note(&store, "after").await.unwrap();
        assert_eq!(noted(&store).await.contains(&kind.to_owned()), arrives, "{loses:?}");
    }
}

#[tokio::test]
async fn hints_come_again_after_the_line_that_brought_them_went_silent() {
    let Some(server) = Server::start().await else { return };
    let (store, line) = over_a_line(&server).await;
    let elsewhere = open(&server.url()).await;
    let (stop, heard) = (CancellationToken::new(), Arc::new(Notify::new()));
    let carry = |store: &Store, heard: &Arc<Notify>| {
        let (store, heard, stop) = (store.clone(), heard.clone(), stop.clone());
        tokio::spawn(async move { store.carry_hints(heard, stop).await })
    };
    let carrying = [carry(&store, &heard), carry(&elsewhere, &Arc::default())];
    let hints = async || {
        let mut n = 0;
        while timeout(Duration::from_millis(100), heard.notified()).await.is_err() {
            n += 1;
            let id = ids::ask_id();
            elsewhere.insert_ask(&new_ask(&id, None, None), &[]).await.unwrap();
        }
        n
    };
    assert!(timeout(LONG, hints()).await.unwrap() > 0, "every change is a hint");
    line.loses(Loses::Everything);
    elsewhere.insert_ask(&new_ask("unheard", None, None), &[]).await.unwrap();
    line.loses(Loses::Nothing);
    timeout(LONG, hints()).await.unwrap();
    stop.cancel();
    join_all(carrying).await;
}
