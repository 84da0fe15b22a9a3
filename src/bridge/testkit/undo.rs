//! Undo, and edit and approve, while commits fail and the daemon dies in the middle of them.

use crate::testkit::{
    Place, Scenario, VisibleCard,
    chat::FakeChat,
    platforms::{InDiscord, InTelegram},
};
use countersign_gate::{
    SubmitOutcome,
    ask::{Ask, By, Decision, Undone},
    call::Call,
};
use countersign_port::Outcome;
use countersign_store::{
    Closed, Fence, Store,
    testkit::engines::{Fresh, on_both},
    testkit::faults::CommitFault,
};
use countersign_tokens::clock;
use serde_json::json;
use std::{path::Path, sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);
const RULE: &str = "git push origin one.";
/// What the system whose file is written stores of it.
const WRITTEN: &str = "\"git push *\": \"allow\"";
const UNDONE: &str = "Undone: shell: git push origin one. no longer holds. A call that already \
                      runs is not stopped.";

/// The first button of the only card.
fn button(place: &impl Place) -> String {
    place.cards()[0].button.clone().unwrap()
}

/// A scenario whose only ask was approved with Always, and the token that undoes it.
async fn stored(store: &Store) -> (Arc<FakeChat>, Scenario, String) {
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::open(store, &chat).await;
    always(chat, scenario).await
}

/// The same where the rule is written to this file.
async fn written(store: &Store, rules: &Path) -> (Arc<FakeChat>, Scenario, String) {
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::with_file(store, &chat, rules).await;
    let found = always(chat, scenario).await;
    assert!(std::fs::read_to_string(rules).unwrap().contains(WRITTEN));
    found
}

async fn always(chat: Arc<FakeChat>, scenario: Scenario) -> (Arc<FakeChat>, Scenario, String) {
    scenario.ask("one", None).await;
    scenario.quiet().await;
    let receipt = scenario.press(&button(&chat).replace(".0.a", ".0.w")).await;
    assert_eq!(receipt.outcome, Outcome::Applied, "{receipt:?}");
    scenario.quiet().await;
    let undo = button(&chat);
    (chat, scenario, undo)
}

/// The same chat before the next start of the daemon.
async fn killed(scenario: Scenario, store: &Store) {
    scenario.stop.cancel();
    scenario.quiet().await;
    drop(scenario);
    store.release_lease(&Fence { name: "chat".to_owned(), epoch: 1 }).await.unwrap();
}

/// Whether the rule holds at its next call.
async fn holds(scenario: &Scenario) -> bool {
    let call = json!({"agent": "a", "session": "s", "tool": "shell_exec", "cwd": "/home/a",
        "args": {"command": RULE}});
    let call: Call = serde_json::from_value(call).unwrap();
    !matches!(scenario.gate.submit(call, false).await.unwrap(), SubmitOutcome::Asked(..))
}

async fn kinds(store: &Store, kind: &str) -> usize {
    let events = store.events_after(0, 1_000).await.unwrap();
    events.iter().filter(|event| event.kind == kind).count()
}

#[tokio::test]
async fn an_undo_whose_commit_fails_takes_nothing_back_and_the_next_press_does() {
    on_both(async |store| {
        let (_chat, scenario, undo) = stored(&store).await;
        store.faults().next(CommitFault::Fails);
        assert_eq!(scenario.press(&undo).await.outcome, Outcome::Fault);
        assert!(holds(&scenario).await);
        assert_eq!(scenario.press(&undo).await.sentence, UNDONE);
        assert!(!holds(&scenario).await);
        let again = scenario.press(&undo).await;
        assert!(again.sentence.starts_with("Already undone by Ana"), "{}", again.sentence);
        assert_eq!(kinds(&store, "undone").await, 1);
    })
    .await;
}

#[tokio::test]
async fn an_undo_whose_commit_cannot_be_known_is_found_by_pressing_again() {
    on_both(async |store| {
        if !store.is_shared() {
            return; // A file's commit has an outcome.
        }
        let (_chat, scenario, undo) = stored(&store).await;
        store.faults().next(CommitFault::AnswerLost);
        assert_eq!(scenario.press(&undo).await.outcome, Outcome::Fault);
        assert!(!holds(&scenario).await, "the row is the truth");
        let again = scenario.press(&undo).await;
        assert!(again.sentence.starts_with("Already undone by Ana"), "{}", again.sentence);
        assert_eq!(kinds(&store, "undone").await, 1);
    })
    .await;
}

#[tokio::test]
async fn an_undo_of_a_daemon_that_died_before_the_rules_file_is_finished_by_the_next_start() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.jsonc");
    let (chat, scenario, undo) = written(&store, &rules).await;
    let by_hand = std::fs::read_to_string(&rules).unwrap() + "// by hand\n";
    std::fs::write(&rules, &by_hand).unwrap();
    // The commit of an Undo, and nothing of what comes after it.
    let ask = store.asks_in("answered", None).await.unwrap().asks.remove(0);
    let undone = Undone { by: By::Caller, at: clock::now_ms() };
    assert!(matches!(store.undo(&ask, &undone).await.unwrap(), Closed::Won(_)));
    assert_eq!(std::fs::read_to_string(&rules).unwrap(), by_hand);
    killed(scenario, &store).await;

    let scenario = Scenario::with_file(&store, &chat, &rules).await;
    scenario.gate.write_pending_grants().await.unwrap();
    let text = std::fs::read_to_string(&rules).unwrap();
    assert!(!text.contains(WRITTEN) && text.contains("// by hand"), "{text}");
    assert!(!holds(&scenario).await);
    assert_eq!(store.unremoved_grants().await.unwrap(), []);
    scenario.pass(SECOND * 40).await;
    assert_eq!(chat.cards()[0].button, None, "the card has no Undo any more");
    assert!(scenario.press(&undo).await.sentence.starts_with("Already undone by "));
    // Another start finds nothing to do.
    scenario.gate.write_pending_grants().await.unwrap();
    assert_eq!(std::fs::read_to_string(&rules).unwrap(), text);
}

#[tokio::test]
async fn an_undo_whose_rules_file_cannot_be_changed_says_so_and_the_next_start_finishes_it() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.jsonc");
    let (chat, scenario, undo) = written(&store, &rules).await;
    let good = std::fs::read_to_string(&rules).unwrap();
    std::fs::write(&rules, format!("{good}, and a mistake")).unwrap();
    let told = scenario.press(&undo).await.sentence;
    assert!(told.starts_with("Undone, but the rules file still has a rule of it: "), "{told}");
    std::fs::write(&rules, &good).unwrap();
    killed(scenario, &store).await;
    let scenario = Scenario::with_file(&store, &chat, &rules).await;
    scenario.gate.write_pending_grants().await.unwrap();
    let text = std::fs::read_to_string(&rules).unwrap();
    assert!(good.contains(WRITTEN) && !text.contains(WRITTEN), "{text}");
    assert!(!holds(&scenario).await);
}

/// Presses Undo a moment before it is too late and a moment after it.
async fn too_late(store: &Store, place: &impl Place) {
    let scenario = Scenario::open(store, place).await;
    scenario.ask("one", None).await;
    scenario.pass(SECOND).await;
    scenario.press(&button(place).replace(".0.a", ".0.w")).await;
    scenario.pass(SECOND * 590).await;
    let undo = button(place);
    scenario.pass(SECOND * 20).await;
    let bare = |card: &VisibleCard| card.button.is_none() && !card.text.contains("undone");
    assert!(place.cards().iter().all(bare), "{:?}", place.cards());
    let receipt = scenario.press(&undo).await;
    let late = "Too late: an answer can be undone for 10 minutes. Its rules still hold; \
                `countersign grants revoke` takes them back.";
    assert_eq!((receipt.outcome, &*receipt.sentence), (Outcome::Expired, late));
    assert!(holds(&scenario).await);
    assert_eq!(place.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_undo_after_its_ten_minutes_is_told_that_it_is_too_late_on_both_platforms() {
    let fresh = [Fresh::sqlite(), Fresh::sqlite()];
    let store = Store::open(&fresh[0].database).await.unwrap();
    too_late(&store, &InTelegram::start(store.faults()).await).await;
    let store = Store::open(&fresh[1].database).await.unwrap();
    too_late(&store, &InDiscord::start(store.faults()).await).await;
}

/// A call of an agent that takes changed input and comes back for its answer.
fn keyed() -> Call {
    let call = json!({"agent": "a", "session": "s", "key": "k", "tool": "shell_exec",
        "accepts": ["updated_input"], "args": {"command": "git push origin edited."}});
    serde_json::from_value(call).unwrap()
}

/// A scenario with an ask for which Ana has proposed a change, and the token that approves it.
async fn proposed(store: &Store) -> (Arc<FakeChat>, Scenario, Ask, String) {
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::open(store, &chat).await;
    let SubmitOutcome::Asked(ask, _) = scenario.gate.submit(keyed(), false).await.unwrap() else {
        panic!("it is asked")
    };
    scenario.quiet().await;
    let message = store.cards_of(&ask.id).await.unwrap().remove(0).message.unwrap();
    let receipt = scenario.reply(&message, "/edit git push --dry-run").await;
    assert!(receipt.sentence.starts_with("Proposed."), "{receipt:?}");
    scenario.quiet().await;
    let approve = button(&chat);
    (chat, scenario, *ask, approve)
}

/// What the agent gets that comes back with the same key.
async fn comes_back(scenario: &Scenario) -> Ask {
    match scenario.gate.submit(keyed(), false).await.unwrap() {
        SubmitOutcome::Asked(ask, _) => *ask,
        other => panic!("{other:?}"),
    }
}

fn is_edited(ask: &Ask) -> bool {
    let answer = ask.answer().unwrap();
    let updated = answer.updated.as_ref().unwrap();
    answer.decision == Decision::Edit && updated.args == json!({"command": "git push --dry-run"})
}

#[tokio::test]
async fn a_change_whose_approval_fails_stays_proposed_and_the_next_press_approves_it() {
    on_both(async |store| {
        let (_chat, scenario, ask, approve) = proposed(&store).await;
        store.faults().next(CommitFault::Fails);
        assert_eq!(scenario.press(&approve).await.outcome, Outcome::Fault);
        let now = store.ask(&ask.id).await.unwrap().unwrap();
        assert!(now.is_open() && now.progress.edit.is_some());
        assert_eq!(scenario.press(&approve).await.sentence, "Approved with the change.");
        assert!(is_edited(&comes_back(&scenario).await));
        assert_eq!(kinds(&store, "answered").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_change_approved_by_a_daemon_that_died_before_it_told_anybody_reaches_the_agent() {
    on_both(async |store| {
        let (chat, scenario, ask, approve) = proposed(&store).await;
        if store.is_shared() {
            store.faults().next(CommitFault::AnswerLost);
            assert_eq!(scenario.press(&approve).await.outcome, Outcome::Fault);
        } else {
            scenario.press(&approve).await;
        }
        killed(scenario, &store).await;
        let scenario = Scenario::open(&store, &chat).await;
        let now = comes_back(&scenario).await;
        assert!(now.id == ask.id && is_edited(&now), "{now:?}");
        let again = scenario.press(&approve).await;
        assert!(again.sentence.starts_with("Already approved with a change by Ana"), "{again:?}");
        scenario.pass(SECOND * 40).await;
        assert!(chat.cards()[0].text.contains("approved with a change by Ana"));
        assert_eq!(kinds(&store, "answered").await, 1);
    })
    .await;
}
