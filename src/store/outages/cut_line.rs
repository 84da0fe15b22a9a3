//! Tests of a connection to the server that drops its data silently.

use super::*;
use line::{Line, Loses};
use tokio_util::sync::CancellationToken;

#[path = "../../../tests/support/line.rs"]
mod line;

/// Opens a store over a connection that can be cut.
async fn over_a_line(server: &Server) -> (Store, Line) {
    let line = Line::to(&server.url()).await;
    (open(&line.url).await, line)
}

#[tokio::test]
async fn a_start_ends_in_time_when_the_line_is_cut_while_it_looks_at_the_tables() {
    let Some(server) = Server::start().await else { return };
    let line = Line::to(&server.url()).await;
    let holding = open(&server.url()).await;
    let mut tables = holding.engine.another().await.unwrap();
    let mut tables = tables.begin().await.unwrap();
    // Holds up the start at its first query, so that the connection can be cut at that moment.
    tables.execute("LOCK TABLE _sqlx_migrations").await.unwrap();
    let database = Database::Postgres(Secret::new(line.url.clone()));
    let (opened, ()) = tokio::join!(timeout(LONG, Store::open_within(&database, SHORT)), async {
        until(&server, "wait_event_type = 'Lock'").await;
        line.loses(Loses::Everything);
    });
    let opened = opened.unwrap();
    assert!(matches!(opened, Err(StoreError::Late)), "{opened:?}");
}

#[tokio::test]
async fn a_line_that_is_cut_in_a_query_ends_it_in_time_and_is_replaced() {
    let Some(server) = Server::start().await else { return };
    let (store, line) = over_a_line(&server).await;
    let reading = tokio::spawn({
        let store = store.clone();
        async move { store.one(sqlx::query("SELECT pg_sleep(60)")).await.map(drop) }
    });
    until(&server, "wait_event = 'PgSleep'").await;
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
    all_connections(&store).await;
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
    let stop = CancellationToken::new();
    let heard = Arc::new(Notify::new());
    let carry = |store: &Store, heard: &Arc<Notify>| {
        let store = store.clone();
        let heard = heard.clone();
        let stop = stop.clone();
        tokio::spawn(async move { store.carry_hints(heard, stop).await })
    };
    let carrying = [carry(&store, &heard), carry(&elsewhere, &Arc::default())];
    let hints = async || {
        let mut n = 0;
        while timeout(Duration::from_millis(100), heard.notified()).await.is_err() {
            n += 1;
            let id = ids::ask_id();
            elsewhere.insert_ask(&new_ask(&id, None, None), &[], None).await.unwrap();
        }
        n
    };
    assert!(timeout(LONG, hints()).await.unwrap() > 0, "every change is a hint");
    line.loses(Loses::Everything);
    elsewhere.insert_ask(&new_ask("unheard", None, None), &[], None).await.unwrap();
    line.loses(Loses::Nothing);
    timeout(LONG, hints()).await.unwrap();
    stop.cancel();
    join_all(carrying).await;
}
