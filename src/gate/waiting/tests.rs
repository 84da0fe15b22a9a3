#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{Choices, Gate, Policy, SubmitOutcome, call::Call, testkit};
use countersign_policy::Guardrail;
use countersign_profiles::Profile;
use countersign_store::{Database, Store};
use futures::FutureExt;
use serde_json::json;

async fn store(folder: &std::path::Path) -> Store {
    Store::open(&Database::Sqlite(folder.join("test.db"))).await.unwrap()
}

fn gate(store: &Store, folder: &std::path::Path, daemon: &str) -> Arc<Gate> {
    let rules = folder.join("permissions.jsonc");
    let rules =
        Policy::open(Profile::Standard, Some(&rules), None, Guardrail::default(), false).unwrap();
    let mut choices = Choices { audience: Vec::new(), ..testkit::choices(rules) };
    choices.settings.daemon = daemon.into();
    choices.settings.keep_ms = 1;
    Gate::new(store.clone(), choices)
}

/// An ask whose daemon knows of no caller any more, and does nothing about it.
async fn ask(gate: &Arc<Gate>, command: &str, attended: bool) -> String {
    let call = json!({"agent": "a", "session": "s", "tool": "shell_exec",
        "args": {"command": command}});
    let call: Call = serde_json::from_value(call).unwrap();
    match gate.submit(call, attended).await.unwrap() {
        SubmitOutcome::Asked(ask, caller) => {
            // Where there is no runtime nobody is sent to take it back.
            std::thread::spawn(move || drop(caller)).join().unwrap();
            ask.id
        }
        SubmitOutcome::Ruled(ruling) => panic!("ruled: {ruling:?}"),
    }
}

#[tokio::test]
async fn only_asks_whose_waiting_callers_never_came_back_are_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let before = gate(&store, folder.path(), "before");
    let gone = ask(&before, "git push one", true).await;
    let back = ask(&before, "git push two", true).await;
    let left_alone = ask(&before, "git push three", false).await;
    let now = gate(&store, folder.path(), "now");
    let read = async |id: &str| store.ask(id).await.unwrap().unwrap();
    comes(&now, &back).await.leave();
    now.cancel_orphans_now().await.unwrap();
    let state = async |id: &str| read(id).await.state.name();
    assert_eq!(
        [state(&gone).await, state(&back).await, state(&left_alone).await],
        ["cancelled", "open", "open"]
    );
}

/// A caller that waits, as long as the result is held.
async fn comes(gate: &Arc<Gate>, id: &str) -> AttachedCaller {
    let mut caller = gate.attach(id);
    assert!(caller.wait(Duration::ZERO).await.unwrap().unwrap().is_open());
    caller
}

#[tokio::test]
async fn a_caller_that_comes_back_and_is_killed_takes_its_ask_along() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let gate = gate(&store, folder.path(), "one");
    let id = ask(&gate, "git push", true).await;
    // It gets its response, comes back, and is killed before the first departure is dealt with.
    comes(&gate, &id).await.leave();
    drop(comes(&gate, &id).await);
    let closed = gate.wait(&id, GRACE * 4).await.unwrap().unwrap();
    assert_eq!(closed.state.name(), "cancelled");
}

#[tokio::test]
async fn a_caller_that_comes_back_and_gets_its_response_is_free_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let gate = gate(&store, folder.path(), "one");
    let id = ask(&gate, "git push", true).await;
    drop(comes(&gate, &id).await);
    comes(&gate, &id).await.leave();
    let still = gate.wait(&id, GRACE * 2).await.unwrap().unwrap();
    assert_eq!(still.state.name(), "open");
}

/// The daemon gives a sign of life that is over at once.
async fn lives(store: &Store, daemon: &str) {
    let lease = format!("{}{daemon}", countersign_store::DAEMON);
    assert!(store.take_lease(&lease, daemon, Duration::ZERO).await.unwrap().is_some());
}

#[tokio::test]
async fn an_ask_is_taken_back_when_the_last_of_its_callers_left_whoever_that_is() {
    for first_leaves_first in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path()).await;
        let one = gate(&store, folder.path(), "one");
        let two = gate(&store, folder.path(), "two");
        lives(&store, "one").await;
        lives(&store, "two").await;
        let id = ask(&one, "git push", true).await;
        let state = async || store.ask(&id).await.unwrap().unwrap().state.name();
        let first = comes(&one, &id).await;
        let second = comes(&two, &id).await;
        one.detach(&id, true).await.unwrap();
        two.detach(&id, true).await.unwrap();
        assert_eq!(state().await, "open", "both wait");
        let mut callers = [(one, first), (two, second)];
        if !first_leaves_first {
            callers.reverse();
        }
        let [(here, caller), (there, other)] = callers;
        drop(caller);
        here.detach(&id, true).await.unwrap();
        assert_eq!(state().await, "open", "one of them waits");
        drop(other);
        there.detach(&id, true).await.unwrap();
        assert_eq!(state().await, "cancelled");
    }
}

#[tokio::test]
async fn callers_of_a_dead_daemon_may_come_back_for_a_while_and_keep_nothing_after_that() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let dead = gate(&store, folder.path(), "dead");
    let here = gate(&store, folder.path(), "here");
    let id = ask(&dead, "git push", true).await;
    let caller = comes(&here, &id).await;
    lives(&store, "dead").await;
    drop(caller);
    here.detach(&id, true).await.unwrap();
    here.cancel_orphans_now().await.unwrap();
    assert!(store.ask(&id).await.unwrap().unwrap().is_open(), "it died just now");

    let id = ask(&gate(&store, folder.path(), "long dead"), "git pull", true).await;
    drop(comes(&here, &id).await);
    here.detach(&id, true).await.unwrap();
    assert_eq!(store.ask(&id).await.unwrap().unwrap().state.name(), "cancelled");
}

#[tokio::test]
async fn a_caller_that_got_its_response_keeps_no_ask_from_being_taken_back_and_takes_none_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let one = gate(&store, folder.path(), "one");
    let two = gate(&store, folder.path(), "two");
    lives(&store, "one").await;
    lives(&store, "two").await;
    let id = ask(&one, "git push", true).await;
    comes(&one, &id).await.leave();
    one.detach(&id, false).await.unwrap();
    one.cancel_orphans_now().await.unwrap();
    let read = async || store.ask(&id).await.unwrap().unwrap();
    assert_eq!((read().await.state.name(), read().await.attached.as_str()), ("open", ""));
    drop(comes(&two, &id).await);
    two.detach(&id, true).await.unwrap();
    assert_eq!(read().await.state.name(), "cancelled");
}

#[tokio::test]
async fn an_ask_that_somebody_came_for_meanwhile_is_not_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let one = gate(&store, folder.path(), "one");
    let two = gate(&store, folder.path(), "two");
    let id = ask(&one, "git push", true).await;
    let seen = store.ask(&id).await.unwrap().unwrap();
    let _caller = comes(&two, &id).await;
    assert!(matches!(one.cancel_as_seen(&seen, GONE).await.unwrap(), Closed::Lost(_)));
    assert!(!store.set_attached(&seen, &seen.attached.without("one")).await.unwrap());
}

#[tokio::test]
async fn who_comes_waits_for_detachments_from_that_ask_only_and_nothing_is_left_of_them() {
    let detachments = Detachments::default();
    let one = detachments.begin("one").await;
    assert!(detachments.are_over("two").now_or_never().is_some());
    assert!(detachments.are_over("one").now_or_never().is_none());
    let mut coming = Box::pin(detachments.are_over("one"));
    assert!((&mut coming).now_or_never().is_none());
    drop(one);
    coming.await;
    assert!(detachments.0.is_empty());

    let one = detachments.begin("one").await;
    detachments.tidy();
    assert!(detachments.are_over("one").now_or_never().is_none(), "it is under way");
    let mut given_up = Box::pin(detachments.begin("one"));
    assert!((&mut given_up).now_or_never().is_none());
    drop(one);
    drop(given_up);
    detachments.tidy();
    assert!(detachments.0.is_empty());
}

#[test]
fn who_left_is_forgotten_and_who_waits_is_not() {
    let waiters = Waiters::default();
    let waiting = |id: &str| waiters.pending.get(id).map(|waiting| waiting.len());
    drop(waiters.register("one"));
    let mut stays = waiters.register("one");
    assert_eq!(waiting("one"), Some(1), "the one before has left");
    let left = waiters.register("one");
    drop((left, waiters.register("two")));
    assert_eq!((waiting("one"), waiting("two")), (Some(2), Some(1)));
    waiters.tidy();
    assert_eq!((waiting("one"), waiting("two")), (Some(1), None));
    waiters.wake("one");
    assert!(matches!(stays.try_recv(), Ok(Wakeup::Look)));
    assert_eq!(waiting("one"), None);
}

#[tokio::test]
async fn every_caller_is_counted_while_it_waits() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path()).await;
    let gate = gate(&store, folder.path(), "one");
    assert_eq!(gate.callers(), 0);
    let callers = ["one", "one", "two"].map(|id| gate.attach(id));
    assert_eq!(gate.callers(), 3);
    let [first, second, other] = callers;
    drop(first);
    assert_eq!(gate.callers(), 2);
    drop((second, other));
    assert_eq!(gate.callers(), 0);
}
