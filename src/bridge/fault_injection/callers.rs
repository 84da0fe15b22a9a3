//! Callers and pressers that leave while the store is slow, fails, or loses an outcome.

use super::{Asked, Place, Scenario, chat::FakeChat};
use countersign_gate::{
    SubmitOutcome,
    ask::{Ask, Scope},
    call::Call,
};
use countersign_port::Presses;
use countersign_store::{Store, engines::on_both, fault_injection::CommitFault};
use countersign_tokens::clock;
use serde_json::json;
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

fn keyed() -> Call {
    let call = json!({"agent": "a", "session": "s", "key": "k", "tool": "shell_exec",
        "args": {"command": "git push origin keyed."}});
    serde_json::from_value(call).unwrap()
}

/// A scenario whose only caller left while its ask was committed.
async fn left_in_the_commit(store: &Store) -> Scenario {
    let scenario = Scenario::open(store, &Arc::new(FakeChat::default())).await;
    let (begun, go) = store.faults().next_is_slow();
    let gate = scenario.gate.clone();
    let caller = tokio::spawn(async move { gate.submit(keyed(), true).await });
    begun.await.unwrap();
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    assert_eq!(store.count_open().await.unwrap(), 0, "it is not committed");
    go.send(()).unwrap();
    scenario.quiet().await;
    assert_eq!(store.count_open().await.unwrap(), 1);
    scenario
}

async fn states(store: &Store) -> [usize; 2] {
    let open = store.asks_in("open", None).await.unwrap().asks.len();
    [open, store.asks_in("cancelled", None).await.unwrap().asks.len()]
}

#[tokio::test]
async fn an_ask_whose_caller_leaves_while_it_is_committed_is_taken_back_after_the_grace() {
    on_both(async |store| {
        let scenario = left_in_the_commit(&store).await;
        scenario.pass(SECOND * 2).await;
        assert_eq!(states(&store).await, [1, 0], "its caller may come back");
        scenario.pass(SECOND * 2).await;
        assert_eq!(states(&store).await, [0, 1]);
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_left_during_the_commit_and_comes_back_in_time_finds_its_ask() {
    on_both(async |store| {
        let scenario = left_in_the_commit(&store).await;
        scenario.pass(SECOND * 2).await;
        let handed = scenario.gate.submit(keyed(), true).await.unwrap();
        let SubmitOutcome::Asked(ask, Some(caller)) = handed else {
            panic!("it is asked: {handed:?}")
        };
        scenario.pass(SECOND * 10).await;
        assert_eq!(store.asks_in("open", None).await.unwrap().asks, [*ask]);
        drop(caller);
        scenario.pass(SECOND * 4).await;
        assert_eq!(states(&store).await, [0, 1]);
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_is_stored_and_not_known_to_be_is_taken_back_unless_its_caller_comes_again() {
    on_both(async |store| {
        if !store.is_shared() {
            return; // A file's commit has an outcome.
        }
        let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
        for comes_again in [false, true] {
            store.faults().next(CommitFault::AnswerLost);
            scenario.gate.submit(keyed(), true).await.unwrap_err();
            assert_eq!(store.count_open().await.unwrap(), 1);
            let again = match comes_again {
                true => Some(scenario.gate.submit(keyed(), true).await.unwrap()),
                false => None,
            };
            let before = states(&store).await;
            scenario.pass(SECOND * 140).await;
            assert_eq!(states(&store).await, before, "its caller may be on its way back");
            scenario.pass(SECOND * 20).await;
            assert_eq!(states(&store).await, [again.iter().count(), 1]);
        }
    })
    .await;
}

#[tokio::test]
async fn an_ask_whose_caller_leaves_while_the_store_fails_is_taken_back_when_it_is_back() {
    on_both(async |store| {
        let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
        let handed = scenario.gate.submit(keyed(), true).await.unwrap();
        let SubmitOutcome::Asked(_, Some(caller)) = handed else {
            panic!("it is asked: {handed:?}")
        };
        store.faults().set_unreadable(true);
        drop(caller);
        scenario.pass(SECOND * 60).await;
        store.faults().set_unreadable(false);
        scenario.pass(SECOND * 60).await;
        assert_eq!(states(&store).await, [1, 0], "its caller may have been on its way back");
        scenario.pass(SECOND * 60).await;
        assert_eq!(states(&store).await, [0, 1]);
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_was_told_of_an_outage_has_longer_than_the_grace_to_come_back() {
    on_both(async |store| {
        let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
        let handed = scenario.gate.submit(keyed(), true).await.unwrap();
        let SubmitOutcome::Asked(_, Some(mut caller)) = handed else {
            panic!("it is asked: {handed:?}")
        };
        store.faults().set_unreadable(true);
        caller.wait(SECOND * 30).await.unwrap_err();
        drop(caller);
        store.faults().set_unreadable(false);
        scenario.pass(SECOND * 140).await;
        assert_eq!(states(&store).await, [1, 0], "its caller may be on its way back");
        scenario.pass(SECOND * 20).await;
        assert_eq!(states(&store).await, [0, 1]);
    })
    .await;
}

/// Does this to an ask whose caller waits, and leaves in the middle of its commit; the ask as its
/// caller gets it then.
async fn leaves_in_the_commit<F>(scenario: &Scenario, asked: Asked, deed: F) -> Ask
where
    F: Future<Output: Send> + Send + 'static,
{
    let (begun, go) = scenario.faults.next_is_slow();
    let doing = tokio::spawn(async move { drop(deed.await) });
    begun.await.unwrap();
    doing.abort();
    assert!(doing.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();
    scenario.quiet().await;
    assert!(asked.waiting.is_finished(), "nobody has to wait for a round to end");
    asked.waiting.await.unwrap()
}

#[tokio::test]
async fn what_a_presser_began_is_finished_though_the_presser_has_left() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        let asked = scenario.ask("one", None).await;
        scenario.quiet().await;
        let always = chat.cards()[0].button.clone().unwrap().replace(".0.a", ".0.w");
        let (handler, press) = (scenario.handler.clone(), scenario.press_of(&always));
        let ask =
            leaves_in_the_commit(&scenario, asked, async move { handler.press(press).await }).await;
        assert_eq!(ask.answer().unwrap().scope, Some(Scope::Always));
        let granted = store.grants(clock::now_ms()).await.unwrap();
        assert_eq!(granted.len(), 1, "what was granted is in the store");
        scenario.pass(SECOND).await;
        let button = chat.cards()[0].button.clone().unwrap();
        assert!(button.contains(".0.j."), "the card shows it, and can be undone: {button}");
    })
    .await;
}

#[tokio::test]
async fn what_is_taken_back_by_one_who_has_left_is_told_to_whoever_waits() {
    on_both(async |store| {
        let scenario = Scenario::open(&store, &Arc::new(FakeChat::default())).await;
        let asked = scenario.ask("one", None).await;
        scenario.quiet().await;
        let (gate, id) = (scenario.gate.clone(), asked.id.clone());
        let cancel = async move { gate.cancel(&id, "the agent went on").await };
        let ask = leaves_in_the_commit(&scenario, asked, cancel).await;
        assert_eq!(ask.state.name(), "cancelled");
    })
    .await;
}
