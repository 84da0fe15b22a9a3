//! Digests, while the chat does not answer, commits fail and the daemon dies in the middle.

use super::{
    Place, Scenario,
    chat::{FakeChat, Network},
};
use countersign_store::{Fence, NewDigest, Store, engines::on_both, fault_injection::CommitFault};
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// A digest that is due in the chat, in front of these commits' faults.
async fn due(store: &Store, scenario: &Scenario, faults: impl IntoIterator<Item = CommitFault>) {
    for fault in faults {
        store.faults().next(fault);
    }
    let (adapter, target) = ("telegram".to_owned(), "here".to_owned());
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
