#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::{
    Closed, Inserted, NewCard,
    testkit::engines::on_both,
    tests::{answered, new_ask},
};
use countersign_domain::Decision;
use std::{collections::HashMap, time::Duration};

async fn asked(store: &Store, id: &str, created_at: i64) -> Ask {
    let nonce = id.to_owned();
    let adapter = "chat".to_owned();
    let target = "here".to_owned();
    let new = Ask { created_at, ..new_ask(id, None, None) };
    match store.insert_ask(&new, &[NewCard { nonce, adapter, target }], None).await.unwrap() {
        Inserted::New(ask) => ask,
        other => panic!("it was known: {other:?}"),
    }
}

/// An ask of this session of this agent, with a card of the same name.
async fn asked_by(store: &Store, who: (&str, &str), id: &str, at: i64, critical: bool) {
    let mut new = Ask { created_at: at, ..new_ask(id, None, None) };
    (new.body.call.agent, new.body.call.session) = (who.0.to_owned(), who.1.to_owned());
    (new.digest, new.body.critical) = (new.body.call.digest(), critical);
    let nonce = id.to_owned();
    let adapter = "chat".to_owned();
    let target = "here".to_owned();
    store.insert_ask(&new, &[NewCard { nonce, adapter, target }], None).await.unwrap();
}

/// The cards that are sent one after the other, each as the first of a page of its own.
async fn sent(store: &Store, fence: &Fence, mut last: String, most: usize) -> Vec<String> {
    let mut sent = Vec::new();
    while sent.len() < most {
        let page = store.due_cards("chat", "here", 10, fence, &last, 9).await.unwrap();
        let Some(first) = page.due.into_iter().next() else { break };
        last = first.ask.unwrap().body.call.agent;
        let nonce = first.card.nonce;
        assert!(store.cards_shown(&[shown(&nonce, 1)], fence).await.unwrap());
        sent.push(nonce);
    }
    sent
}

async fn leading(store: &Store) -> Fence {
    store.take_lease("chat", "me", Duration::from_secs(60)).await.unwrap().unwrap()
}

async fn due(store: &Store, fence: &Fence, most: u32) -> Vec<(String, Result<i64, String>)> {
    let due = store.due_cards("chat", "here", 10, fence, "", most).await.unwrap().due;
    let seen = |due: Due| {
        let version = due.ask.map(|ask| ask.version);
        (due.card.nonce, version.map_err(|error| error.to_string()))
    };
    due.into_iter().map(seen).collect()
}

fn shown(nonce: &str, version: i64) -> Shown {
    let message = format!("message of {nonce}");
    Shown {
        nonce: nonce.into(),
        ask: nonce.into(),
        message,
        version,
        muted: false,
        seen: Seen::No,
        drawn: None,
    }
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
        let all = ["d", "c", "a", "b"].map(|id| (id.to_owned(), Ok(2)));
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

#[tokio::test]
async fn agents_take_turns_and_within_one_its_sessions_do_and_critical_asks_come_first() {
    on_both(async |store| {
        let fence = leading(&store).await;
        for n in 0..4 {
            asked_by(&store, ("noisy", "one"), &format!("n1-{n}"), n, false).await;
        }
        for (n, session) in ["two", "three"].into_iter().enumerate() {
            asked_by(&store, ("noisy", session), &format!("n-{session}"), 5 + n as i64, false)
                .await;
        }
        asked_by(&store, ("quiet", "one"), "q-a", 8, false).await;
        asked_by(&store, ("noisy", "one"), "n1-critical", 9, true).await;
        asked_by(&store, ("quiet", "one"), "q-b", 10, false).await;
        let sent = sent(&store, &fence, "noisy".to_owned(), 99).await;
        let turns =
            ["q-a", "n1-critical", "q-b", "n1-0", "n-two", "n-three", "n1-1", "n1-2", "n1-3"];
        assert_eq!(sent, turns);
    })
    .await;
}

#[tokio::test]
async fn nobody_who_waits_is_passed_over_whoever_comes_meanwhile() {
    let fresh = crate::testkit::engines::Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let fence = leading(&store).await;
    let mut last = String::new();
    // How many cards of each agent wait, and for how many turns it was passed over.
    let mut waiting = HashMap::<String, (usize, usize)>::new();
    for turn in 0..300 {
        // The noisy one asks three times a turn, each time in another session; the others seldom.
        let mut asks =
            vec![("noisy".to_owned(), 0), ("noisy".to_owned(), 1), ("noisy".to_owned(), 2)];
        if rand::random_ratio(1, 3) {
            asks.push((format!("agent{}", rand::random_range(0..5)), 3));
        }
        for (agent, n) in asks {
            let session = format!("s{}", rand::random_range(0..40));
            asked_by(&store, (&agent, &session), &format!("{agent}-{turn}-{n}"), turn, false).await;
            waiting.entry(agent).or_default().0 += 1;
        }
        let page = store.due_cards("chat", "here", 10, &fence, &last, 9).await.unwrap();
        let first = page.due.into_iter().next().unwrap();
        last = first.ask.unwrap().body.call.agent;
        assert!(store.cards_shown(&[shown(&first.card.nonce, 1)], &fence).await.unwrap());
        waiting.values_mut().for_each(|(_, passed)| *passed += 1);
        let (cards, passed) = waiting.get_mut(&last).unwrap();
        (*cards, *passed) = (*cards - 1, 0);
        waiting.retain(|_, (cards, _)| *cards > 0);
        assert!(waiting.values().all(|(_, passed)| *passed < 6), "turn {turn}: {waiting:?}");
    }
}

#[tokio::test]
async fn a_digest_is_made_once_and_sent_once_by_the_daemon_that_leads() {
    on_both(async |store| {
        let length = Duration::from_secs(60);
        let leads = store.take_lease("chat", "one", length).await.unwrap().unwrap();
        let here = || NewDigest {
            adapter: "chat".to_owned(),
            target: "7".to_owned(),
            content: "[]".to_owned(),
        };
        assert_eq!(store.last_digest().await.unwrap(), None);
        assert!(store.add_digest(10, vec![]).await.unwrap());
        assert!(store.add_digest(20, vec![here()]).await.unwrap());
        assert!(!store.add_digest(20, vec![here()]).await.unwrap(), "another daemon");
        assert_eq!(store.last_digest().await.unwrap(), Some(20));
        let due = || store.due_digest("chat", "7", &leads);
        let wanted = DueDigest { due_at: 20, content: "[]".to_owned() };
        assert_eq!(due().await.unwrap(), Some(wanted.clone()));
        assert_eq!(store.due_digest("chat", "8", &leads).await.unwrap(), None);
        let old = Fence { name: "chat".to_owned(), epoch: leads.epoch - 1 };
        assert!(!store.digest_sending(20, "chat", "7", &old).await.unwrap());
        assert!(store.digest_sending(20, "chat", "7", &leads).await.unwrap());
        assert!(!store.digest_sending(20, "chat", "7", &leads).await.unwrap());
        assert_eq!(due().await.unwrap(), None);
        store.digest_tried(20, "chat", "7", DigestTry::Again).await.unwrap();
        assert_eq!(due().await.unwrap(), Some(wanted.clone()));
        // The next leader sends what this one began, and no leader what was sent.
        assert!(store.digest_sending(20, "chat", "7", &leads).await.unwrap());
        store.release_lease(&leads).await.unwrap();
        let next = store.take_lease("chat", "two", length).await.unwrap().unwrap();
        assert_eq!(due().await.unwrap(), None, "it leads no more");
        let due = || store.due_digest("chat", "7", &next);
        assert_eq!(due().await.unwrap(), Some(wanted));
        assert!(!store.digest_sending(20, "chat", "7", &leads).await.unwrap());
        assert!(store.digest_sending(20, "chat", "7", &next).await.unwrap());
        store.digest_tried(20, "chat", "7", DigestTry::Over).await.unwrap();
        store.digest_tried(20, "chat", "7", DigestTry::Again).await.unwrap();
        assert_eq!(due().await.unwrap(), None, "it was sent");
        assert!(!store.digest_sending(20, "chat", "7", &next).await.unwrap());
        assert!(store.add_digest(25, vec![here()]).await.unwrap());
        assert!(store.add_digest(30, vec![]).await.unwrap());
        assert_eq!(due().await.unwrap(), None, "what was not sent in time is not sent later");
    })
    .await;
}
