//! Starts with a platform that forgets with its process, as the inbox does.

use super::{Place, Scenario, chat::FakeChat, chat::Network};
use countersign_store::{Fence, Store, engines::on_both};
use std::{sync::Arc, time::Duration};

/// The next process after this one has come to its end, and what people see of it.
async fn restart(
    scenario: Scenario,
    store: &Store,
    epoch: i64,
    network: Network,
) -> (Scenario, Arc<FakeChat>) {
    scenario.stop.cancel();
    scenario.quiet().await;
    drop(scenario);
    let fence = Fence { name: "chat".to_owned(), epoch };
    store.release_lease(&fence).await.unwrap();
    let chat = Arc::new(FakeChat::forgetful());
    chat.set(network);
    (Scenario::open(store, &chat).await, chat)
}

#[tokio::test]
async fn what_stood_on_a_platform_that_forgets_stands_again_after_a_start() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::forgetful());
        let scenario = Scenario::open(&store, &chat).await;
        let one = scenario.ask("one", None).await;
        scenario.pass(Duration::from_secs(1)).await;
        let asks = [one, scenario.ask("two", None).await];
        scenario.quiet().await;
        scenario.tells_the_truth(&chat, &asks).await;

        let (scenario, chat) = restart(scenario, &store, 1, Network::Clear).await;
        scenario.tells_the_truth(&chat, &asks).await;
        assert_eq!(chat.requests(), 2, "each was put up once, in the order in which they came");
        assert!(chat.cards()[0].text.contains(&asks[0].name));

        let (scenario, chat) = restart(scenario, &store, 2, Network::Away).await;
        assert_eq!(chat.cards(), []);
        chat.set(Network::Clear);
        scenario.pass(Duration::from_secs(60)).await;
        scenario.tells_the_truth(&chat, &asks).await;
    })
    .await;
}

#[tokio::test]
async fn a_card_of_a_damaged_ask_is_given_up_with_the_reason_and_a_start_goes_on_with_the_others() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::forgetful());
        let scenario = Scenario::open(&store, &chat).await;
        let (bad, _good) = (scenario.ask("bad", None).await, scenario.ask("good", None).await);
        scenario.pass(Duration::from_secs(1)).await;
        store.damage(&bad.id, "push origin bad", "push origin worse").await;

        let (scenario, chat) = restart(scenario, &store, 1, Network::Clear).await;
        let _new = scenario.ask("new", None).await;
        scenario.pass(Duration::from_secs(1)).await;
        let texts: Vec<_> = chat.cards().into_iter().map(|card| card.text).collect();
        assert_eq!(texts, ["git push origin good.", "git push origin new."]);
        let why = store.why_gone(&bad.id).await.unwrap().join("");
        assert!(why.contains(&format!("the ask `{}` is damaged in the store", bad.id)), "{why}");
    })
    .await;
}
