#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;
use crate::{
    NewCard,
    testkit::engines::on_both,
    tests::{answered, new_ask_in},
};
use countersign_domain::Decision;
use std::time::Duration;

fn key() -> ThreadKey {
    let [adapter, target, agent, session] = ["chat", "room", "a", "s"].map(str::to_owned);
    ThreadKey { adapter, target, agent, session }
}

async fn fence(store: &Store, holder: &str) -> Fence {
    let length = Duration::from_millis(0);
    store.take_lease("bot", holder, length).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_thread_is_known_at_every_daemon_and_a_try_counts_until_it_is_known_to_have_failed() {
    on_both(async |store| {
        let key = key();
        let one = fence(&store, "one").await;
        assert_eq!(store.session_thread(&key).await.unwrap(), None);
        let first = store.opening_thread(&key, "a · shop", &one, 1).await.unwrap().unwrap();
        assert_eq!((first.attempts, &*first.name, first.place.as_deref()), (0, "a · shop", None));
        // The process ends here. Another daemon leads, and knows that it may have been made.
        let two = fence(&store, "two").await;
        assert_eq!(store.opening_thread(&key, "a · shop", &one, 2).await.unwrap(), None);
        let again = store.opening_thread(&key, "other", &two, 2).await.unwrap().unwrap();
        assert_eq!((again.attempts, again.id == first.id), (1, true));
        store.thread_not_made(&again.id, Some("no right")).await.unwrap();
        let known = store.session_thread(&key).await.unwrap().unwrap();
        assert_eq!((known.attempts, known.refused.as_deref()), (1, Some("no right")));
        let third = store.opening_thread(&key, "n", &two, 3).await.unwrap().unwrap();
        assert_eq!((third.attempts, third.refused), (1, None), "what follows says it anew");
        store.thread_not_made(&again.id, Some("no right")).await.unwrap();
        let missing = [("chat".to_owned(), "no right".to_owned())];
        assert_eq!(store.missing_threads(1).await.unwrap(), missing);
        store.thread_opened(&first.id, "room/7", 9).await.unwrap();
        let known = store.session_thread(&key).await.unwrap().unwrap();
        let made = ThreadRow {
            id: first.id,
            name: "a · shop".to_owned(),
            place: Some("room/7".to_owned()),
            attempts: 0,
            refused: None,
            given_up: false,
            closed: false,
        };
        assert_eq!(known, made);
        assert_eq!(store.missing_threads(0).await.unwrap(), []);
        let target = store.target_of_thread("chat", "room/7").await.unwrap();
        assert_eq!(target.as_deref(), Some("room"));
        assert_eq!(store.target_of_thread("other", "room/7").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_thread_is_idle_once_its_session_asks_nothing_or_has_ended() {
    on_both(async |store| {
        let key = key();
        let fence = fence(&store, "one").await;
        let row = store.opening_thread(&key, "n", &fence, 100).await.unwrap().unwrap();
        store.thread_opened(&row.id, "room/7", 100).await.unwrap();
        let idle = async |before| {
            let idle = store.idle_threads("chat", "room", before).await.unwrap();
            idle.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(idle(100).await, [""; 0]);
        assert_eq!(idle(101).await, std::slice::from_ref(&row.id));
        store.insert_ask(&new_ask_in("s", "open1"), &[], None).await.unwrap();
        assert_eq!(idle(101).await, [""; 0], "it waits for a person");
        let ask = store.ask("open1").await.unwrap().unwrap();
        let over = answered(Decision::Deny, 1);
        let _ = store.close_ask(&ask, &over, &[]).await.unwrap();
        store.end_session("a", "s", 5).await.unwrap();
        assert_eq!(idle(1).await, std::slice::from_ref(&row.id));
        store.thread_closed(&row.id).await.unwrap();
        assert_eq!(idle(i64::MAX).await, [""; 0]);
        assert!(store.session_thread(&key).await.unwrap().unwrap().closed);
    })
    .await;
}

#[tokio::test]
async fn a_thread_that_is_gone_takes_its_open_cards_along_and_the_third_is_the_last() {
    on_both(async |store| {
        let key = key();
        let fence = fence(&store, "one").await;
        let adapter = "chat".to_owned();
        let target = "room".to_owned();
        let card = NewCard { nonce: "n1".to_owned(), adapter, target };
        store.insert_ask(&new_ask_in("s", "open1"), &[card], None).await.unwrap();
        let mut ids = Vec::new();
        for at in 0..3 {
            let row = store.opening_thread(&key, "n", &fence, at).await.unwrap().unwrap();
            assert_eq!((row.attempts, row.given_up), (0, false));
            store.thread_opened(&row.id, "room/7", at).await.unwrap();
            store.execute(sqlx::query("UPDATE card SET message = 'm', shown = 1")).await.unwrap();
            store.thread_lost(&key, "it was deleted").await.unwrap();
            let card = store.cards_of("open1").await.unwrap().remove(0);
            assert_eq!((card.message, card.attempts), (None, 0));
            ids.push(row.id);
        }
        ids.dedup();
        assert_eq!(ids.len(), 3, "a platform that knows ids must not return the one that is gone");
        let row = store.session_thread(&key).await.unwrap().unwrap();
        assert_eq!((row.given_up, row.refused.as_deref()), (true, Some("it was deleted")));
    })
    .await;
}
