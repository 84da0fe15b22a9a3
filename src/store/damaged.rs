//! Asks whose rows do not read back as they were written.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::{
    Closed, Inserted, Store,
    testkit::engines::on_both,
    tests::{answered, new_ask},
};
use countersign_domain::{Ask, Body, Decision, call::Call};
use serde_json::{Value, json};
use std::time::Duration;

async fn asked(store: &Store, new: Ask) -> Ask {
    match store.insert_ask(&new, &[], None).await.unwrap() {
        Inserted::New(ask) => ask,
        other => panic!("it was known: {other:?}"),
    }
}

fn ids(asks: &[Ask]) -> Vec<&str> {
    asks.iter().map(|ask| ask.id.as_str()).collect()
}

const ANOTHER_CALL: &str = "the ask `bad` is damaged in the store (its call is not the one that \
                            was submitted), so it cannot be shown or answered; look at the disk, \
                            and have its agent ask again";

#[tokio::test]
async fn an_ask_whose_stored_call_was_changed_is_refused_by_name_and_hides_no_other() {
    on_both(async |store| {
        for id in ["a", "bad", "c"] {
            let attached = ["gone"].into_iter().collect();
            let new = Ask { attended: true, attached, ..new_ask(id, Some(id), Some(50)) };
            asked(&store, new).await;
        }
        store.damage("bad", "\"command\":\"bad\"", "\"command\":\"bed\"").await;
        let error = |ask: Result<_, super::StoreError>| ask.unwrap_err().to_string();
        assert_eq!(error(store.ask("bad").await.map(drop)), ANOTHER_CALL);
        let again = new_ask("again", Some("bad"), None);
        assert_eq!(error(store.insert_ask(&again, &[], None).await.map(drop)), ANOTHER_CALL);
        assert_eq!(store.whole_ask("bad").await.unwrap(), None);
        assert_eq!(store.whole_ask("a").await.unwrap().unwrap().id, "a");

        assert_eq!(ids(&store.asks_in("open", None).await.unwrap().asks), ["a", "c"]);
        assert_eq!(store.open_in_session("a", "s").await.unwrap(), ["a", "bad", "c"]);
        let orphans = store.orphans("me", Duration::from_secs(1), "").await.unwrap();
        let orphans: Vec<_> = orphans.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(orphans, ["a", "bad", "c"]);
        let overdue = store.overdue(50, None).await.unwrap().into_iter();
        let overdue: Vec<_> = overdue
            .map(|of| (of.id, of.ask.map(|ask| ask.id).map_err(|e| e.to_string())))
            .collect();
        let whole = |id: &str| (id.to_owned(), Ok(id.to_owned()));
        let damaged = ("bad".to_owned(), Err(ANOTHER_CALL.to_owned()));
        assert_eq!(overdue, [whole("a"), damaged, whole("c")]);
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_is_no_json_any_more_is_named_and_expires_at_its_deadline_like_any_other() {
    on_both(async |store| {
        asked(&store, new_ask("bad", None, Some(50))).await;
        store.damage("bad", "{", "[").await;
        let error = store.ask("bad").await.unwrap_err().to_string();
        assert!(
            error.starts_with("the ask `bad` is damaged in the store (the store holds"),
            "{error}"
        );
        let at = |at| answered(Decision::Deny, at).answer().unwrap().clone();
        assert!(!store.expire_damaged("bad", &at(49)).await.unwrap(), "it is not overdue");
        assert_eq!(store.count_open().await.unwrap(), 1);
        assert!(store.expire_damaged("bad", &at(50)).await.unwrap());
        assert!(!store.expire_damaged("bad", &at(51)).await.unwrap(), "it is closed");
        assert_eq!(
            (store.count_open().await.unwrap(), store.next_deadline().await.unwrap()),
            (0, None)
        );
        let events = store.events_after(0, 9).await.unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["asked", "expired"]);
    })
    .await;
}

#[tokio::test]
async fn a_damaged_ask_in_a_full_page_keeps_nobody_from_the_next_page() {
    on_both(async |store| {
        let names: Vec<_> = (0..Store::PAGE + 3).map(|n| format!("ask{n:04}")).collect();
        for id in &names {
            asked(&store, new_ask(id, None, None)).await;
        }
        let damaged = |id: &str| ["ask0000", "ask0007", "ask0499"].contains(&id);
        let whole: Vec<_> = names.iter().filter(|id| !damaged(id)).cloned().collect();
        let listed = async |state: &str| {
            let mut ids = Vec::new();
            store.each_ask_in(state, |ask| ids.push(ask.id.clone())).await.unwrap();
            ids.sort();
            ids
        };
        for id in &names {
            if damaged(id) {
                // The first and the last row of the page, and one between.
                store.damage(id, id, "another").await;
            }
        }
        assert_eq!(listed("open").await, whole);
        let page = store.asks_in("open", None).await.unwrap();
        assert_eq!((page.asks.len(), page.next.is_some()), (Store::PAGE - 3, true));
        for id in &whole {
            let ask = store.ask(id).await.unwrap().unwrap();
            let end = answered(Decision::Deny, 5);
            assert!(matches!(store.close_ask(&ask, &end, &[]).await.unwrap(), Closed::Won(_)));
        }
        store.damage("ask0300", "ask0300", "another").await;
        let whole: Vec<_> = whole.into_iter().filter(|id| id != "ask0300").collect();
        assert_eq!(listed("answered").await, whole);
    })
    .await;
}

#[tokio::test]
async fn calls_with_awkward_values_read_back_from_either_engine_as_they_were_handed_in() {
    on_both(async |store| {
        let numbers = "[1.0, -0.0, 0.1, 1e300, 123456789012345678901234567890, 5e-324, \
                       -2.65254249477508e189, 18446744073709551615, -9223372036854775808]";
        let numbers: Value = serde_json::from_str(numbers).unwrap();
        let args = json!({"z": numbers, "a": "\u{0}\u{7f}\u{2028}\u{fffd}🦀 ' \" \\ e\u{301}",
            "": {"b": 1, "a": [[], {}, null]}, "\u{0}": true});
        let call = Call::new("a\u{301}", "s", "shell_exec", args);
        let digest = call.digest();
        let body = Body::new(call, "no rule");
        let ask = asked(&store, Ask { digest, body, ..new_ask("awkward", None, None) }).await;
        assert_eq!(store.ask("awkward").await.unwrap(), Some(ask));
    })
    .await;
}
