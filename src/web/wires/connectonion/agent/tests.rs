#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::*;
use countersign_bridge::fault_injection::{Place, Scenario, chat::FakeChat};
use countersign_port::Outcome;
use countersign_store::{Store, engines::on_both};
use serde_json::json;
use tokio::task::JoinHandle;

const SECOND: Duration = Duration::from_secs(1);

/// An agent that waits in a task, and the button that approves its ask.
async fn waits(store: &Store) -> (Scenario, JoinHandle<Option<Value>>, String) {
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::open(store, &chat).await;
    let mut call = Call::new("a", "s", "shell_exec", json!({"command": "git push"}));
    call.key = Some("k".to_owned());
    let Ok(Submission::Later(answer)) = submit(&scenario.gate, call).await else {
        panic!("it is asked")
    };
    let agent = tokio::spawn(answer);
    scenario.quiet().await;
    let button = chat.cards()[0].button.clone().unwrap();
    // Its next read of the row fails.
    store.faults().set_unreadable(true);
    scenario.pass(ROUND + SECOND * 10).await;
    (scenario, agent, button)
}

#[tokio::test]
async fn an_agent_waits_on_while_the_store_fails_and_gets_its_answer_after_that() {
    on_both(async |store| {
        let (scenario, agent, button) = waits(&store).await;
        assert!(!agent.is_finished());
        assert_eq!(scenario.press(&button).await.outcome, Outcome::Fault);
        store.faults().set_unreadable(false);
        scenario.pass(SECOND * 10).await;
        assert_eq!(store.count_open().await.unwrap(), 1, "nobody took it back");
        assert_eq!(scenario.press(&button).await.outcome, Outcome::Applied);
        let answer = json!({"type": "APPROVAL_RESPONSE", "tool_call_id": "k", "approved": true,
            "scope": "once", "by": "Ana (telegram)"});
        assert_eq!(agent.await.unwrap(), Some(answer));
    })
    .await;
}

#[tokio::test]
async fn a_daemon_that_stops_lets_an_agent_go_that_waits_for_the_store() {
    on_both(async |store| {
        let (scenario, agent, _) = waits(&store).await;
        scenario.gate.stop();
        assert_eq!(agent.await.unwrap(), None);
        store.faults().set_unreadable(false);
        scenario.pass(SECOND * 10).await;
        assert_eq!(store.count_open().await.unwrap(), 1, "its agent comes back");
    })
    .await;
}
