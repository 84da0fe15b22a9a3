//! A row that was damaged on the disk, among others.

use super::{Place, Scenario, chat::FakeChat};
use countersign_port::Outcome;
use countersign_store::engines::on_both;
use std::{sync::Arc, time::Duration};

const DAMAGED: &str = "This ask is damaged in the store, so nobody can answer it.";

#[tokio::test]
async fn a_damaged_ask_is_answered_by_nobody_and_expires_with_the_others() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        let (bad, good) =
            (scenario.ask("bad", Some(60)).await, scenario.ask("good", Some(60)).await);
        scenario.quiet().await;
        store.damage(&bad.id, "push origin bad", "push origin good --force").await;
        let button = chat.cards()[0].button.clone().unwrap();
        let receipt = scenario.press(&button).await;
        assert_eq!((receipt.outcome, receipt.sentence.as_str()), (Outcome::Fault, DAMAGED));
        assert_eq!((receipt.card, store.count_open().await.unwrap()), (None, 2));

        scenario.pass(Duration::from_secs(70)).await;
        assert_eq!(scenario.read(&good).await.state.name(), "expired");
        assert_eq!(good.waiting.await.unwrap().state.name(), "expired");
        assert_eq!(store.count_open().await.unwrap(), 0);
        assert!(bad.waiting.is_finished(), "it was told");
        let events = store.events_after(0, 99).await.unwrap().into_iter();
        let ended = events.filter(|event| event.kind == "expired");
        assert_eq!(ended.filter(|event| event.ask.as_ref() == Some(&bad.id)).count(), 1);
        assert!(!chat.cards().iter().any(|card| card.text.contains("--force")), "never shown");
    })
    .await;
}
