#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use countersign_port::testkit::sample_card;
use serde_json::json;

fn ask(id: &str, tone: Tone, deadline: i64) -> AskView {
    let card = Card { tone, deadline: Some(deadline), title: id.into(), ..sample_card(id) };
    serde_json::from_value(json!({"id": id, "state": "open", "digest": "", "why": "",
        "created": "", "always": ["shell: ls"], "card": card,
        "call": {"agent": "a", "session": "s", "tool": "shell_exec", "args": {}}}))
    .unwrap()
}

fn question(id: &str) -> AskView {
    let mut ask = ask(id, Tone::Open, 50);
    ask.call.questions = serde_json::from_value(json!([
        {"question": "Which?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]}]))
    .unwrap();
    ask
}

fn showing(asks: Vec<AskView>) -> WatchState {
    let mut state = WatchState::default();
    state.show(asks, 0);
    state
}

fn letter(state: &mut WatchState, letter: char, now: i64) -> Option<WatchAction> {
    state.press(WatchKey::Letter(letter), now)
}

fn once(id: &str) -> Option<WatchAction> {
    Some(WatchAction::Answer(id.to_owned(), AnswerRequest::new(Decision::Approve)))
}

#[test]
fn critical_requests_come_first_then_those_with_the_least_time() {
    let state = showing(vec![
        ask("late", Tone::Open, 900),
        ask("soon", Tone::Open, 100),
        ask("bad", Tone::Critical, 999),
    ]);
    let ids: Vec<&str> = state.asks.iter().map(|it| it.ask.id.as_str()).collect();
    assert_eq!(ids, ["bad", "soon", "late"]);
    assert_eq!(state.current().unwrap().ask.id, "bad");
}

#[test]
fn one_key_approves_what_has_been_in_sight_and_no_key_what_has_just_appeared() {
    let mut state = showing(vec![ask("one", Tone::Open, 1), ask("two", Tone::Open, 2)]);
    assert_eq!(letter(&mut state, 'a', SETTLE - 1), None);
    assert_eq!(state.said, "This request has just appeared. Press the key again.");
    assert_eq!(letter(&mut state, 'a', SETTLE), once("one"));
    // It is gone, and the next one takes its place.
    state.show(vec![ask("two", Tone::Open, 2)], 5_000);
    assert_eq!(letter(&mut state, 'a', 5_000 + SETTLE - 1), None);
    assert_eq!(letter(&mut state, 'a', 5_000 + SETTLE), once("two"));
}

#[test]
fn what_comes_meanwhile_does_not_move_the_choice() {
    let mut state = showing(vec![ask("one", Tone::Open, 100)]);
    state.show(vec![ask("one", Tone::Open, 100), ask("bad", Tone::Critical, 1)], 5_000);
    assert_eq!((state.place(), state.current().unwrap().ask.id.as_str()), (Some(1), "one"));
    assert_eq!(letter(&mut state, 'a', 5_001), once("one"));
}

#[test]
fn a_critical_request_takes_a_second_key_and_every_other_key_leaves_it() {
    let mut state = showing(vec![ask("bad", Tone::Critical, 1)]);
    for other in [WatchKey::Letter('a'), WatchKey::Enter, WatchKey::Leave, WatchKey::Letter('n')] {
        assert_eq!(letter(&mut state, 'a', SETTLE), None);
        assert_eq!(state.awaited, Awaited::Yes("bad".to_owned()));
        assert_eq!(state.press(other, SETTLE), None, "{other:?}");
        assert_eq!((&state.awaited, state.said.as_str()), (&Awaited::Key, "Not approved."));
    }
    letter(&mut state, 'a', SETTLE);
    assert_eq!(letter(&mut state, 'y', SETTLE), once("bad"));
    assert_eq!(letter(&mut state, 'w', SETTLE), None);
    assert_eq!(state.said, "Nothing may be remembered for this request.");
    // It is gone before the second key.
    letter(&mut state, 'a', SETTLE);
    state.show(vec![ask("other", Tone::Critical, 1)], SETTLE);
    assert_eq!(letter(&mut state, 'y', 9_000), None);
}

#[test]
fn a_denial_takes_its_reason_and_leaving_denies_nothing() {
    let mut state = showing(vec![ask("one", Tone::Open, 1)]);
    letter(&mut state, 'r', SETTLE);
    for typed in "not q!".chars() {
        assert_eq!(letter(&mut state, typed, SETTLE), None);
    }
    state.press(WatchKey::Erase, SETTLE);
    let reason = Some("not q".to_owned());
    let deny = AnswerRequest { reason, ..AnswerRequest::new(Decision::Deny) };
    let sent = state.press(WatchKey::Enter, SETTLE);
    assert_eq!(sent, Some(WatchAction::Answer("one".to_owned(), deny)));
    letter(&mut state, 'r', SETTLE);
    assert_eq!(state.press(WatchKey::Leave, SETTLE), None);
    assert_eq!((&state.awaited, state.said.as_str()), (&Awaited::Key, "Not denied."));
}

#[test]
fn a_question_is_answered_by_its_option_and_by_nothing_else() {
    let mut state = showing(vec![question("q")]);
    assert_eq!(letter(&mut state, 'a', SETTLE), None);
    assert_eq!(letter(&mut state, '3', SETTLE), None);
    assert_eq!(state.said, "There is no option 3.");
    let Some(WatchAction::Answer(id, sent)) = letter(&mut state, '2', SETTLE) else {
        panic!("no answer: {}", state.said)
    };
    assert_eq!((id.as_str(), sent.answers.unwrap()["Which?"].clone()), ("q", json!("Postgres")));
}

#[test]
fn undo_and_pause_go_to_the_daemon_and_interrupt_always_ends() {
    let mut state = showing(vec![ask("one", Tone::Open, 1)]);
    assert_eq!(letter(&mut state, 'u', SETTLE), None);
    letter(&mut state, 'w', SETTLE);
    assert_eq!(letter(&mut state, 'u', SETTLE), Some(WatchAction::Undo("one".to_owned())));
    let hold = PauseRequest { mode: PauseMode::Hold };
    assert_eq!(letter(&mut state, 'p', SETTLE), Some(WatchAction::Pause(hold)));
    state.paused(true);
    assert_eq!(letter(&mut state, 'p', SETTLE), Some(WatchAction::Resume));
    letter(&mut state, 'r', SETTLE);
    assert_eq!(state.press(WatchKey::Interrupt, SETTLE), Some(WatchAction::Quit));
}
