#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::{
    gate::ask::Decision,
    store::{
        Closed, Inserted, NewAsk, NewCard,
        engines::on_both,
        tests::{answered, new_ask},
    },
};
use std::time::Duration;

async fn asked(store: &Store, id: &str, created_at: i64) -> Ask {
    let (nonce, adapter, target) = (id.to_owned(), "chat".to_owned(), "here".to_owned());
    let new = NewAsk { created_at, ..new_ask(id, None, None) };
    match store.insert_ask(&new, &[NewCard { nonce, adapter, target }]).await.unwrap() {
        Inserted::New(ask) => ask,
        Inserted::Known(ask) => panic!("it was known: {ask:?}"),
    }
}

async fn leading(store: &Store) -> Fence {
    store.take_lease("chat", "me", Duration::from_secs(60)).await.unwrap().unwrap()
}

async fn due(store: &Store, fence: &Fence, most: u32) -> Vec<(String, Result<i64, String>)> {
    let due = store.due_cards("chat", "here", 10, fence, most).await.unwrap().due;
    let seen = |due: Due| {
        let version = due.ask.map(|ask| ask.version);
        (due.card.nonce, version.map_err(|error| error.to_string()))
    };
    due.into_iter().map(seen).collect()
}

fn shown(nonce: &str, version: i64) -> Shown {
    let message = format!("message of {nonce}");
    Shown { nonce: nonce.into(), ask: nonce.into(), message, version, muted: false }
}

#[tokio::test]
async fn a_page_has_the_new_cards_and_then_the_redraws_each_with_its_ask_as_it_stands() {
    on_both(async |store| {
        let fence = leading(&store).await;
        let mut asks = Vec::new();
        for (id, at) in [("b", 2), ("a", 1), ("d", 4), ("c", 3)] {
            asks.push(asked(&store, id, at).await);
        }
        assert!(store.cards_shown(&[shown("a", 1), shown("b", 1)], &fence).await.unwrap());
        for ask in asks {
            let end = answered(Decision::Approve, 5);
            assert!(matches!(store.close_ask(&ask, &end, &[]).await.unwrap(), Closed::Won(_)));
        }
        let all = ["c", "d", "a", "b"].map(|id| (id.to_owned(), Ok(2)));
        assert_eq!(due(&store, &fence, 9).await, all);
        assert_eq!(due(&store, &fence, 3).await, all[..3]);
        let card = store.cards_of("b").await.unwrap().remove(0);
        assert_eq!(card.message.as_deref(), Some("message of b"));
    })
    .await;
}

#[tokio::test]
async fn many_cards_are_noted_at_once_and_only_they() {
    on_both(async |store| {
        let fence = leading(&store).await;
        let mut all = Vec::new();
        for n in 0..60 {
            let id = format!("ask{n:02}");
            asked(&store, &id, n).await;
            all.push(shown(&id, 1));
        }
        assert!(store.cards_shown(&all[..59], &fence).await.unwrap());
        assert_eq!(due(&store, &fence, 999).await, [("ask59".to_owned(), Ok(1))]);
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_does_not_read_back_keeps_no_other_from_being_shown() {
    on_both(async |store| {
        let fence = leading(&store).await;
        asked(&store, "bad", 1).await;
        asked(&store, "good", 2).await;
        let spoil = sqlx::query("UPDATE ask SET body = '{}' WHERE id = 'bad'");
        store.execute(spoil).await.unwrap();
        let page = due(&store, &fence, 9).await;
        let [(bad, Err(why)), good] = &page[..] else { panic!("{page:?}") };
        assert!(why.contains("unreadable in `body`"), "{why}");
        assert_eq!((bad.as_str(), good), ("bad", &("good".to_owned(), Ok(1))));
    })
    .await;
}
