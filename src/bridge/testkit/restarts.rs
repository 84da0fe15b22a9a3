//! Starts with a platform that forgets with its process, as the inbox does.

use crate::testkit::{
    Place, Scenario,
    chat::{FakeChat, Network},
};
use countersign_store::{
    Fence, NewDigest, Store, testkit::engines::on_both, testkit::faults::CommitFault,
};
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
        let bad = scenario.ask("bad", None).await;
        let _good = scenario.ask("good", None).await;
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

// Digests, while the chat does not answer, commits fail and the daemon dies in the middle.

const MINUTE: Duration = Duration::from_secs(60);

/// A digest that is due in the chat, in front of these commits' faults.
async fn due(store: &Store, scenario: &Scenario, faults: impl IntoIterator<Item = CommitFault>) {
    for fault in faults {
        store.faults().next(fault);
    }
    let adapter = "telegram".to_owned();
    let target = "here".to_owned();
    let digest = NewDigest { adapter, target, content: "[]".to_owned() };
    assert!(store.add_digest(10, vec![digest]).await.unwrap());
    scenario.pass(MINUTE).await;
}

/// The daemon dies, and the next one leads.
async fn next(scenario: Scenario, store: &Store, chat: &Arc<FakeChat>, epoch: i64) -> Scenario {
    scenario.stop.cancel();
    scenario.quiet().await;
    drop(scenario);
    store.release_lease(&Fence { name: "chat".to_owned(), epoch }).await.unwrap();
    let scenario = Scenario::open(store, chat).await;
    scenario.pass(MINUTE).await;
    scenario
}

#[tokio::test]
async fn a_digest_whose_daemon_dies_while_it_is_sent_is_sent_by_the_next_one() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        chat.set(Network::Silent);
        due(&store, &scenario, []).await;
        assert_eq!(chat.announced(), 0);
        chat.set(Network::Clear);
        let scenario = next(scenario, &store, &chat, 1).await;
        assert_eq!(chat.announced(), 1);
        let scenario = next(scenario, &store, &chat, 2).await;
        assert_eq!(chat.announced(), 1, "it was sent");
        drop(scenario);
    })
    .await;
}

#[tokio::test]
async fn a_digest_that_may_have_been_sent_is_repeated_by_the_next_daemon_alone() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        // Made, begun, and then nothing can be noted any more.
        due(&store, &scenario, [CommitFault::GoesWell, CommitFault::GoesWell, CommitFault::Fails])
            .await;
        assert!(store.faults().is_over());
        scenario.pass(MINUTE * 10).await;
        assert_eq!(chat.announced(), 1, "the one that sent it does not repeat it");
        let scenario = next(scenario, &store, &chat, 1).await;
        assert_eq!(chat.announced(), 2);
        let scenario = next(scenario, &store, &chat, 2).await;
        assert_eq!(chat.announced(), 2);
        drop(scenario);
    })
    .await;
}

#[tokio::test]
async fn a_digest_that_does_not_arrive_is_sent_once_it_can_be() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        chat.set_down(true);
        due(&store, &scenario, []).await;
        assert_eq!(chat.announced(), 0);
        chat.set_down(false);
        scenario.pass(MINUTE * 2).await;
        assert_eq!(chat.announced(), 1);
        scenario.pass(MINUTE * 10).await;
        assert_eq!(chat.announced(), 1);
    })
    .await;
}
