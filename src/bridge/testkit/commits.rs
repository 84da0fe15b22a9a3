//! Commits that fail, wait or lose their outcome, under the bridge.

use crate::testkit::{Asked, Place, Scenario, chat::FakeChat};
use countersign_gate::{
    SubmitOutcome,
    ask::{Ask, By, Decision, Scope},
    call::Call,
};
use countersign_port::{MessageRef, Outcome, Press, Presses};
use countersign_store::{
    Store,
    testkit::engines::{Fresh, on_both},
    testkit::faults::CommitFault,
};
use countersign_tokens::clock;
use serde_json::json;
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const NOTHING: &str = "This could not be recorded; nothing changed. Try again.";
const UNCERTAIN: &str =
    "Connection to the database lost. Press again to see whether your answer was recorded.";

/// What a presser is told whose commit went wrong: only a server can leave it open what it did.
fn fault(store: &Store) -> &'static str {
    if store.is_shared() { UNCERTAIN } else { NOTHING }
}

/// A scenario with one ask whose card is posted.
async fn one_card(store: &Store) -> (Arc<FakeChat>, Scenario, [Asked; 1], String) {
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::open(store, &chat).await;
    let ask = scenario.ask("one", None).await;
    scenario.quiet().await;
    let button = chat.cards()[0].button.clone().unwrap();
    (chat, scenario, [ask], button)
}

async fn kinds(store: &Store, kind: &str) -> usize {
    let events = store.events_after(0, 1_000).await.unwrap();
    events.iter().filter(|event| event.kind == kind).count()
}

fn approved_by_ana(ask: &Ask) -> bool {
    let answer = ask.answer().unwrap();
    answer.decision == Decision::Approve
        && matches!(&answer.by, By::Person { platform, .. } if platform == "telegram")
}

#[tokio::test]
async fn a_press_whose_commit_fails_is_not_acknowledged_and_its_ask_stays_open() {
    on_both(async |store| {
        let (chat, scenario, [ask], button) = one_card(&store).await;
        for _ in 0..3 {
            store.faults().next(CommitFault::Fails);
            let receipt = scenario.press(&button).await;
            assert_eq!(
                (receipt.outcome, receipt.sentence.as_str()),
                (Outcome::Fault, fault(&store))
            );
            scenario.pass(SECOND * 2).await;
            assert!(scenario.read(&ask).await.is_open() && !ask.waiting.is_finished());
        }
        scenario.tells_the_truth(&chat, std::slice::from_ref(&ask)).await;
        assert_eq!(kinds(&store, "answered").await, 0);
        assert_eq!(scenario.press(&button).await.outcome, Outcome::Applied);
        scenario.quiet().await;
        scenario.tells_the_truth(&chat, std::slice::from_ref(&ask)).await;
        assert!(approved_by_ana(&ask.waiting.await.unwrap()));
        assert_eq!(kinds(&store, "answered").await, 1);
    })
    .await;
}

#[tokio::test]
async fn an_answer_whose_commit_cannot_be_known_is_found_by_pressing_again_and_by_its_waiter() {
    on_both(async |store| {
        if !store.is_shared() {
            return; // A file's commit has an outcome.
        }
        let (chat, scenario, [ask], button) = one_card(&store).await;
        store.faults().next(CommitFault::AnswerLost);
        let receipt = scenario.press(&button).await;
        assert_eq!((receipt.outcome, receipt.sentence.as_str()), (Outcome::Fault, UNCERTAIN));
        // Nobody was told, but the log of events tells the waiter within its next look.
        scenario.pass(SECOND * 3).await;
        scenario.tells_the_truth(&chat, std::slice::from_ref(&ask)).await;
        let again = scenario.press(&button).await;
        assert_eq!(again.outcome, Outcome::AlreadyAnswered);
        assert!(again.sentence.starts_with("Already approved by Ana"), "{}", again.sentence);
        assert!(approved_by_ana(&ask.waiting.await.unwrap()));
        assert_eq!(kinds(&store, "answered").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_press_that_was_recorded_is_told_so_though_nothing_can_be_read_after_it() {
    on_both(async |store| {
        let (chat, scenario, [ask], button) = one_card(&store).await;
        store.faults().next(CommitFault::ThenUnreadable);
        let message = Some(MessageRef("a copy".to_owned()));
        let press = Press { message, ..scenario.press_of(&button) };
        let receipt = scenario.handler.press(press).await;
        assert_eq!(
            (receipt.outcome, receipt.sentence.as_str()),
            (Outcome::Applied, "Approved once.")
        );
        store.faults().set_unreadable(false);
        scenario.pass(SECOND * 60).await;
        scenario.tells_the_truth(&chat, std::slice::from_ref(&ask)).await;
        assert!(approved_by_ana(&ask.waiting.await.unwrap()));
        assert_eq!(kinds(&store, "answered").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_slow_commit_delays_what_its_presser_hears_and_neither_loses_nor_doubles_it() {
    on_both(async |store| {
        let (chat, scenario, [ask], button) = one_card(&store).await;
        let (begun, go) = store.faults().next_is_slow();
        let handler = scenario.handler.clone();
        let press = scenario.press_of(&button);
        let first = tokio::spawn(async move { handler.press(press).await });
        begun.await.unwrap();
        let deny = button.replace(".0.a", ".0.d");
        let handler = scenario.handler.clone();
        let press = scenario.press_of(&deny);
        let second = tokio::spawn(async move { handler.press(press).await });
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert!(!first.is_finished() && !second.is_finished() && !ask.waiting.is_finished());
        assert!(scenario.read(&ask).await.is_open(), "nobody sees what is not committed");
        assert!(chat.cards()[0].button.is_some());
        go.send(()).unwrap();
        assert_eq!(first.await.unwrap().outcome, Outcome::Applied);
        let second = second.await.unwrap();
        assert_eq!(second.outcome, Outcome::AlreadyAnswered);
        assert!(second.sentence.starts_with("Already approved by Ana"), "{}", second.sentence);
        scenario.quiet().await;
        scenario.tells_the_truth(&chat, std::slice::from_ref(&ask)).await;
        assert!(approved_by_ana(&ask.waiting.await.unwrap()));
        assert_eq!(kinds(&store, "answered").await, 1);
    })
    .await;
}

fn keyed() -> Call {
    let call = json!({"agent": "a", "session": "s", "key": "k", "tool": "shell_exec",
        "args": {"command": "git push origin keyed."}});
    serde_json::from_value(call).unwrap()
}

#[tokio::test]
async fn a_call_whose_commit_fails_may_not_run_and_is_asked_once_when_it_comes_again() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        let commits =
            [Some(CommitFault::Fails), store.is_shared().then_some(CommitFault::AnswerLost)];
        for (n, fault) in commits.into_iter().flatten().enumerate() {
            store.faults().next(fault);
            scenario.gate.submit(keyed(), true).await.unwrap_err();
            let SubmitOutcome::Asked(ask, _caller) =
                scenario.gate.submit(keyed(), true).await.unwrap()
            else {
                panic!("it is asked")
            };
            scenario.pass(SECOND * 3).await;
            assert_eq!(store.asks_in("open", None).await.unwrap().asks, [*ask.clone()]);
            let open = chat.cards().into_iter().filter(|card| card.button.is_some());
            assert_eq!((chat.cards().len(), open.count()), (n + 1, 1), "it has one card");
            scenario.gate.cancel(&ask.id, "the round is over").await.unwrap();
            scenario.quiet().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_card_whose_note_fails_is_redrawn_and_shows_the_truth_whatever_happened_meanwhile() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        let mut asks = Vec::new();
        for answered_meanwhile in [false, true] {
            store.faults().next(CommitFault::GoesWell);
            store.faults().next(CommitFault::Fails);
            let ask = scenario.ask(&format!("noted-{answered_meanwhile}"), None).await;
            scenario.quiet().await;
            assert!(store.faults().is_over(), "it was posted, and its note failed");
            assert_eq!(chat.cards().len(), asks.len() + 1);
            if answered_meanwhile {
                drop(scenario.approve(&ask).await);
            }
            asks.push(ask);
            scenario.pass(SECOND * 40).await;
            scenario.tells_the_truth(&chat, &asks).await;
        }
        // The same for a redraw.
        store.faults().next(CommitFault::GoesWell);
        store.faults().next(CommitFault::Fails);
        drop(scenario.approve(&asks[0]).await);
        scenario.pass(SECOND * 40).await;
        assert!(store.faults().is_over());
        scenario.tells_the_truth(&chat, &asks).await;
    })
    .await;
}

#[tokio::test]
async fn an_always_whose_commit_fails_grants_nothing_and_the_next_one_holds() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        let ask = scenario.ask("one", None).await;
        scenario.quiet().await;
        let always = chat.cards()[0].button.clone().unwrap().replace(".0.a", ".0.w");

        store.faults().next(CommitFault::Fails);
        let receipt = scenario.press(&always).await;
        assert_eq!((receipt.outcome, receipt.sentence.as_str()), (Outcome::Fault, fault(&store)));
        assert_eq!(store.grants(clock::now_ms()).await.unwrap(), []);
        assert!(scenario.read(&ask).await.is_open());
        let same = scenario.ask("another", None).await;
        assert!(scenario.read(&same).await.is_open(), "such a call is still asked");

        let receipt = scenario.press(&always).await;
        assert_eq!(receipt.outcome, Outcome::Applied);
        assert_eq!(
            receipt.sentence,
            "Approved, and always from now on: shell: git push origin one.."
        );
        assert_eq!(store.grants(clock::now_ms()).await.unwrap().len(), 1);
        scenario.quiet().await;
        scenario.tells_the_truth(&chat, &[ask, same]).await;
    })
    .await;
}

#[tokio::test]
async fn an_always_that_holds_is_called_so_though_it_is_not_noted_that_it_was_written() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("permissions.jsonc");
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::with_file(&store, &chat, &rules).await;
    let ask = scenario.ask("one", None).await;
    scenario.quiet().await;
    let always = chat.cards()[0].button.clone().unwrap().replace(".0.a", ".0.w");
    store.faults().next(CommitFault::GoesWell);
    store.faults().next(CommitFault::Fails);
    let receipt = scenario.press(&always).await;
    assert_eq!(receipt.outcome, Outcome::Applied);
    assert_eq!(receipt.sentence, "Approved, and always from now on: shell: git push *.");
    let written = std::fs::read_to_string(&rules).unwrap();
    assert!(written.contains("git push *"), "{written}");
    assert!(store.faults().is_over());
    // What was not noted is made up for at the next start, and is in the file once.
    assert_eq!(store.unwritten_grants().await.unwrap().len(), 1);
    scenario.gate.write_pending_grants().await.unwrap();
    assert_eq!(store.unwritten_grants().await.unwrap(), []);
    assert_eq!(std::fs::read_to_string(&rules).unwrap(), written);
    scenario.tells_the_truth(&chat, &[ask]).await;
}

// Callers and pressers that leave while the store is slow, fails, or loses an outcome.

fn keyed_call() -> Call {
    let call = json!({"agent": "a", "session": "s", "key": "k", "tool": "shell_exec",
        "args": {"command": "git push origin keyed."}});
    serde_json::from_value(call).unwrap()
}

/// A scenario whose only caller left while its ask was committed.
async fn left_in_the_commit(store: &Store) -> Scenario {
    let scenario = Scenario::open(store, &Arc::new(FakeChat::default())).await;
    let (begun, go) = store.faults().next_is_slow();
    let gate = scenario.gate.clone();
    let caller = tokio::spawn(async move { gate.submit(keyed_call(), true).await });
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
        let handed = scenario.gate.submit(keyed_call(), true).await.unwrap();
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
            scenario.gate.submit(keyed_call(), true).await.unwrap_err();
            assert_eq!(store.count_open().await.unwrap(), 1);
            let again = if comes_again {
                Some(scenario.gate.submit(keyed_call(), true).await.unwrap())
            } else {
                None
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
        let handed = scenario.gate.submit(keyed_call(), true).await.unwrap();
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
        let handed = scenario.gate.submit(keyed_call(), true).await.unwrap();
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
        let handler = scenario.handler.clone();
        let press = scenario.press_of(&always);
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
        let gate = scenario.gate.clone();
        let id = asked.id.clone();
        let cancel = async move { gate.cancel(&id, "the agent went on").await };
        let ask = leaves_in_the_commit(&scenario, asked, cancel).await;
        assert_eq!(ask.state.name(), "cancelled");
    })
    .await;
}
