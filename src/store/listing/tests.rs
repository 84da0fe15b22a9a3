#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    Closed, Inserted,
    testkit::engines::on_both,
    tests::{answered, new_ask, new_ask_in},
};
use countersign_domain::{Body, Decision, call::Call};
use serde_json::json;

#[tokio::test]
async fn every_ask_of_a_state_stands_on_one_page_however_many_are_of_the_same_time() {
    on_both(async |store| {
        let count = Store::PAGE + 30;
        let mut names: Vec<_> = (0..count).map(|n| format!("ask{n:04}")).collect();
        for (n, id) in names.iter().enumerate() {
            let created_at = i64::try_from(n / 70).unwrap();
            let new = Ask { created_at, ..new_ask(id, None, None) };
            assert!(matches!(store.insert_ask(&new, &[], None).await.unwrap(), Inserted::New(_)));
        }
        assert_eq!(listed(&store, "open").await, names);
        assert_eq!(store.count_open().await.unwrap(), i64::try_from(count).unwrap());
        let first = store.asks_in("open", None).await.unwrap();
        assert_eq!(first.asks.len(), Store::PAGE);
        for id in &names {
            let ask = store.ask(id).await.unwrap().unwrap();
            let end = answered(Decision::Deny, ask.created_at);
            let Closed::Won(_) = store.close_ask(&ask, &end, &[]).await.unwrap() else {
                panic!("{id} was closed before")
            };
        }
        let rest = store.asks_in("open", first.next.as_ref()).await.unwrap();
        assert_eq!(rest, Listed { asks: Vec::new(), next: None });
        names.reverse();
        assert_eq!(listed(&store, "answered").await, names);
        assert_eq!(store.count_open().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_page_of_large_asks_ends_before_it_is_too_large() {
    on_both(async |store| {
        let names: Vec<_> = (0..9).map(|n| format!("ask{n}")).collect();
        for (n, id) in names.iter().enumerate() {
            let new = new_ask(id, None, None);
            let large = match n % 3 {
                0 => 300_000,
                1 => 2_000_000,
                _ => 10,
            };
            let call = Call::new("a", "s", "t", json!({"x": "y".repeat(large)}));
            let created_at = i64::try_from(n).unwrap();
            let digest = call.digest();
            let body = Body::new(call, "no rule");
            let new = Ask { created_at, digest, body, ..new };
            assert!(matches!(store.insert_ask(&new, &[], None).await.unwrap(), Inserted::New(_)));
        }
        let mut pages = Vec::new();
        let mut from = None;
        loop {
            let page = store.asks_in("open", from.as_ref()).await.unwrap();
            pages.push(page.asks.len());
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(pages, [1, 1, 2, 1, 2, 1, 1]);
        assert_eq!(listed(&store, "open").await, names);
    })
    .await;
}

#[test]
fn one_that_is_larger_than_a_page_is_a_page() {
    assert_eq!([fitting(&[], 9), fitting(&[10, 1], 9), fitting(&[4, 5, 1], 9)], [1, 1, 2]);
}

async fn listed(store: &Store, state: &str) -> Vec<String> {
    let mut ids = Vec::new();
    store.each_ask_in(state, |ask| ids.push(ask.id.clone())).await.unwrap();
    ids
}

/// Stores an ask of a session that was closed at this time.
async fn closed(store: &Store, id: &str, session: &str, at: i64) {
    store.insert_ask(&new_ask_in(session, id), &[], None).await.unwrap();
    let ask = store.ask(id).await.unwrap().unwrap();
    let end = answered(Decision::Deny, at);
    assert!(matches!(store.close_ask(&ask, &end, &[]).await.unwrap(), Closed::Won(_)));
}

async fn found(store: &Store, range: &HistoryRange, most: usize) -> Found<String> {
    store.history(range, most, |ask| Some(ask.id.clone())).await.unwrap()
}

#[tokio::test]
async fn pages_list_every_closed_ask_once_latest_first_however_many_close_at_one_time() {
    on_both(async |store| {
        let mut names: Vec<_> = (0..23).map(|n| format!("ask{n:02}")).collect();
        for (n, id) in names.iter().enumerate() {
            closed(&store, id, "s", i64::try_from(n / 5).unwrap()).await;
        }
        store.insert_ask(&new_ask("open", None, None), &[], None).await.unwrap();
        names.reverse();
        let mut range = HistoryRange::default();
        let mut listed = Vec::new();
        loop {
            let page = found(&store, &range, 4).await;
            listed.extend(page.found);
            let Some(next) = page.next else { break };
            range.behind = Some(ListCursor::read(&next.written()).unwrap());
        }
        assert_eq!(listed, names);
    })
    .await;
}

#[tokio::test]
async fn a_range_names_agent_session_state_and_both_ends_of_the_time() {
    on_both(async |store| {
        for (id, session, at) in [("a1", "s", 10), ("b2", "t", 20), ("c3", "s", 30)] {
            closed(&store, id, session, at).await;
        }
        let all = HistoryRange::default;
        let session = |session: &str| Some(session.to_owned());
        let cases = [
            (HistoryRange { session: session("s"), ..all() }, vec!["c3", "a1"]),
            (HistoryRange { agent: session("b"), ..all() }, vec![]),
            (HistoryRange { state: Some("expired"), ..all() }, vec![]),
            (HistoryRange { state: Some("answered"), ..all() }, vec!["c3", "b2", "a1"]),
            (HistoryRange { since: Some(20), until: Some(20), ..all() }, vec!["b2"]),
            (HistoryRange { since: Some(11), until: Some(29), ..all() }, vec!["b2"]),
        ];
        for (range, wanted) in cases {
            let found = found(&store, &range, 9).await;
            assert_eq!(
                (found.found, found.next),
                (wanted.iter().map(ToString::to_string).collect(), None)
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_page_looks_through_a_bounded_number_of_rows_and_the_next_goes_on_behind_them() {
    on_both(async |store| {
        // Plain rows: thousands of asks through the gate's own way would take minutes.
        closed(&store, "first", "rare", 1).await;
        let many = "INSERT INTO ask (id, agent, session, state, version, body, digest, \
             progress, attended, created_at, closed_at, bytes) \
             WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 3000) \
             SELECT 'x' || n, 'a', 's', 'expired', 1, '', '', '', 0, 1, n, 10 FROM n";
        store.execute(sqlx::query(many)).await.unwrap();
        let range = HistoryRange { session: Some("rare".to_owned()), ..HistoryRange::default() };
        let page = found(&store, &range, 9).await;
        assert_eq!((page.found, page.scanned), (vec![], Store::SCANNED));
        let range = HistoryRange { behind: page.next, ..range };
        let page = found(&store, &range, 9).await;
        assert_eq!((page.found, page.scanned, page.next), (vec!["first".to_owned()], 1000, None));
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_does_not_read_back_is_passed_over_and_ends_no_list() {
    on_both(async |store| {
        for (id, at) in [("a1", 1), ("b2", 2), ("c3", 3)] {
            closed(&store, id, "s", at).await;
        }
        store.damage("b2", "b2", "b9").await;
        assert_eq!(found(&store, &HistoryRange::default(), 9).await.found, ["c3", "a1"]);
    })
    .await;
}

#[test]
fn a_position_reads_back_and_nothing_else_is_one() {
    let place = ListCursor { at: 17, id: "k3f9".to_owned() };
    assert_eq!(ListCursor::read(&place.written()), Some(place));
    for text in ["", "-", "17", "17-", "x-k3f9", "-1-k3f9", "17-k3'f9", "17-k3-f9"] {
        assert_eq!(ListCursor::read(text), None, "{text}");
    }
}
