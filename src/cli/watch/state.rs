//! What `watch` shows, and what its keys do. Pure: time is an argument.

use countersign_bridge::card::terminal;
use countersign_domain::{
    Decision, Scope,
    deadline::PauseMode,
    wire::{AnswerRequest, AskView, PauseRequest},
};
use countersign_port::{Card, Tone};
use serde_json::{Map, Value};
use termion::event::Key;

/// How long a request must be in sight before a key answers it, in milliseconds.
// SECURITY: a key that was meant for another request must not meet one that takes its place.
const SETTLE: i64 = 700;

/// How many lines one key scrolls.
const SCROLL: usize = 10;

/// What a key wants done at the daemon.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WatchAction {
    Answer(String, AnswerRequest),
    Undo(String),
    Pause(PauseRequest),
    Resume,
    Quit,
}

/// A request with its card.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchedAsk {
    pub(super) ask: AskView,
    pub(super) card: Card,
}

/// What the next keys are for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    /// Any of the keys.
    #[default]
    Key,
    /// `y` approves this critical request.
    Yes(String),
    /// A reason for the denial of this request, typed so far.
    Reason(String, String),
    /// Any key closes the list of keys.
    Help,
}

/// What is on the screen.
#[derive(Debug, Default)]
pub(super) struct WatchState {
    /// What waits: critical requests first, then by deadline.
    pub(super) asks: Vec<WatchedAsk>,
    /// The id of the chosen request.
    chosen: Option<String>,
    /// Since when it is chosen, Unix milliseconds.
    chosen_at: i64,
    scroll: usize,
    /// Its end has been in sight.
    seen: bool,
    pub(super) awaited: Awaited,
    /// What was last said.
    pub(super) said: String,
    /// Why the daemon is out of reach.
    pub(super) lost: Option<String>,
    pub(super) is_paused: bool,
    /// The request that was answered last, for Undo.
    last: Option<String>,
}

impl WatchState {
    /// Shows what waits now.
    pub(super) fn show(&mut self, asks: Vec<AskView>, now: i64) {
        self.lost = None;
        let place = self.place();
        self.asks = asks
            .into_iter()
            .filter_map(|ask| Some(WatchedAsk { card: terminal::of(ask.clone())?, ask }))
            .collect();
        self.asks.sort_by_key(|it| {
            (it.card.tone != Tone::Critical, it.card.deadline.unwrap_or(i64::MAX))
        });
        if self.place().is_none() {
            // Where the chosen one was is the one behind it now.
            let next = place.unwrap_or_default().min(self.asks.len().saturating_sub(1));
            self.choose(next, now);
        }
    }

    /// The place of the chosen request.
    pub(super) fn place(&self) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        self.asks.iter().position(|it| it.ask.id == *chosen)
    }

    /// The chosen request.
    pub(super) fn current(&self) -> Option<&WatchedAsk> {
        self.asks.get(self.place()?)
    }

    /// Notes that the chosen request takes so many lines and has room for so many; returns how many
    /// are above what is shown.
    pub(super) fn see(&mut self, lines: usize, room: usize) -> usize {
        self.scroll = self.scroll.min(lines.saturating_sub(room.max(1)));
        self.seen |= self.scroll + room >= lines;
        self.scroll
    }

    /// Does what a key means.
    pub(super) fn press(&mut self, key: Key, now: i64) -> Option<WatchAction> {
        if key == Key::Ctrl('c') {
            return Some(WatchAction::Quit);
        }
        match std::mem::take(&mut self.awaited) {
            Awaited::Help => None,
            Awaited::Yes(id) => self.confirm(id, key),
            Awaited::Reason(id, text) => self.type_reason(id, text, key),
            Awaited::Key => self.plain(key, now),
        }
    }

    fn plain(&mut self, key: Key, now: i64) -> Option<WatchAction> {
        let place = self.place().unwrap_or_default();
        match key {
            Key::Char('q') => return Some(WatchAction::Quit),
            Key::Char('j') | Key::Down => self.choose(place + 1, now),
            Key::Char('k') | Key::Up => self.choose(place.saturating_sub(1), now),
            Key::Char(' ') | Key::PageDown => {
                self.scroll = self.scroll.saturating_add(SCROLL);
            }
            Key::Char('b') | Key::PageUp => {
                self.scroll = self.scroll.saturating_sub(SCROLL);
            }
            Key::Char('?') => self.awaited = Awaited::Help,
            Key::Char('p') if self.is_paused => return Some(WatchAction::Resume),
            Key::Char('p') => {
                return Some(WatchAction::Pause(PauseRequest { mode: PauseMode::Hold }));
            }
            Key::Char('u') => match self.last.clone() {
                Some(last) => return Some(WatchAction::Undo(last)),
                None => self.said = "Nothing was answered here yet.".to_owned(),
            },
            Key::Char(letter @ ('a' | 'w' | 'd' | 'r' | '1'..='9')) => {
                return self.answer(letter, now);
            }
            _ => {}
        }
        None
    }

    fn answer(&mut self, letter: char, now: i64) -> Option<WatchAction> {
        if now - self.chosen_at < SETTLE {
            self.said = "This request has just appeared. Press the key again.".to_owned();
            return None;
        }
        let WatchedAsk { ask, card } = self.current()?.clone();
        let is_question = !ask.call.questions.is_empty();
        let refused = match letter {
            'a' | 'w' if is_question => Some("A question is answered by its options, 1 to 9."),
            'w' if card.tone == Tone::Critical || ask.always.is_empty() => {
                Some("Nothing may be remembered for this request.")
            }
            '1'..='9' if !is_question => Some("This request has no options."),
            // SECURITY: what is dangerous may stand behind what is harmless.
            'a' | 'w' | '1'..='9' if !self.seen => {
                Some("Read to the end first: space shows more of this request.")
            }
            _ => None,
        };
        if let Some(why) = refused {
            why.clone_into(&mut self.said);
            return None;
        }
        let request = match letter {
            'a' if card.tone == Tone::Critical => {
                self.awaited = Awaited::Yes(ask.id);
                return None;
            }
            'a' => AnswerRequest::new(Decision::Approve),
            'w' => AnswerRequest {
                scope: Some(Scope::Always),
                ..AnswerRequest::new(Decision::Approve)
            },
            'd' => AnswerRequest::new(Decision::Deny),
            'r' => {
                self.awaited = Awaited::Reason(ask.id, String::new());
                return None;
            }
            digit => match option(&ask, digit) {
                Ok(request) => request,
                Err(why) => {
                    self.said = why;
                    return None;
                }
            },
        };
        Some(self.send(ask.id, request))
    }

    fn confirm(&mut self, id: String, key: Key) -> Option<WatchAction> {
        // FAIL-CLOSED: any other key leaves it as it is, and so does a change of the list.
        let is_there = self.current().is_some_and(|it| it.ask.id == id);
        match key {
            Key::Char('y') if is_there => {
                Some(self.send(id, AnswerRequest::new(Decision::Approve)))
            }
            _ => {
                self.said = "Not approved.".to_owned();
                None
            }
        }
    }

    fn type_reason(&mut self, id: String, mut text: String, key: Key) -> Option<WatchAction> {
        match key {
            Key::Esc => {
                self.said = "Not denied.".to_owned();
                return None;
            }
            Key::Char('\n') => {
                let reason = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                let deny = AnswerRequest { reason, ..AnswerRequest::new(Decision::Deny) };
                return Some(self.send(id, deny));
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Char(letter) => text.push(letter),
            _ => {}
        }
        self.awaited = Awaited::Reason(id, text);
        None
    }

    fn send(&mut self, id: String, request: AnswerRequest) -> WatchAction {
        self.said = "…".to_owned();
        self.last = Some(id.clone());
        WatchAction::Answer(id, request)
    }

    fn choose(&mut self, place: usize, now: i64) {
        let place = place.min(self.asks.len().saturating_sub(1));
        let id = self.asks.get(place).map(|it| it.ask.id.clone());
        if id != self.chosen {
            (self.chosen, self.chosen_at) = (id, now);
            (self.scroll, self.seen) = (0, false);
        }
    }
}

/// The answer to the only question of an ask by the number of an option.
fn option(ask: &AskView, digit: char) -> Result<AnswerRequest, String> {
    let [question] = ask.call.questions.as_slice() else {
        return Err(format!("It asks several questions: countersign answer {} …", ask.id));
    };
    if question.multi_select {
        return Err(format!("Several options can be chosen: countersign answer {} …", ask.id));
    }
    let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
    let Some(choice) = at.and_then(|at| question.options.get(at)) else {
        return Err(format!("There is no option {digit}."));
    };
    let answers = Map::from_iter([(question.question.clone(), Value::from(choice.label.clone()))]);
    Ok(AnswerRequest { answers: Some(answers), ..AnswerRequest::new(Decision::Approve) })
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use countersign_port_testkit::sample_card;
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
        state.seen = true;
        state
    }

    fn letter(state: &mut WatchState, letter: char, now: i64) -> Option<WatchAction> {
        state.press(Key::Char(letter), now)
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
        state.see(1, 1);
        assert_eq!(letter(&mut state, 'a', 5_000 + SETTLE - 1), None);
        assert_eq!(letter(&mut state, 'a', 5_000 + SETTLE), once("two"));
    }

    #[test]
    fn nothing_is_approved_before_its_end_has_been_in_sight_and_a_denial_needs_no_end() {
        let asks = || vec![ask("long", Tone::Open, 1), ask("next", Tone::Open, 2)];
        let mut state = WatchState::default();
        state.show(asks(), 0);
        // Not drawn yet.
        assert_eq!(letter(&mut state, 'a', SETTLE), None);
        assert_eq!(state.see(25, 10), 0);
        for key in ['a', 'w', ' '] {
            assert_eq!(letter(&mut state, key, SETTLE), None);
        }
        assert_eq!((state.see(25, 10), letter(&mut state, 'a', SETTLE)), (10, None));
        assert_eq!(state.said, "Read to the end first: space shows more of this request.");
        letter(&mut state, ' ', SETTLE);
        // It never scrolls beyond the end, and back again it stays read.
        assert_eq!(state.see(25, 10), 15);
        letter(&mut state, 'b', SETTLE);
        assert_eq!((state.see(25, 10), letter(&mut state, 'a', SETTLE)), (5, once("long")));
        letter(&mut state, 'j', SETTLE);
        assert_eq!((state.see(25, 0), letter(&mut state, 'a', 9_000)), (0, None));
        let denied = WatchAction::Answer("next".into(), AnswerRequest::new(Decision::Deny));
        assert_eq!(letter(&mut state, 'd', 9_000), Some(denied));
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
        for other in [Key::Char('a'), Key::Char('\n'), Key::Esc, Key::Char('n')] {
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
        state.press(Key::Backspace, SETTLE);
        let reason = Some("not q".to_owned());
        let deny = AnswerRequest { reason, ..AnswerRequest::new(Decision::Deny) };
        let sent = state.press(Key::Char('\n'), SETTLE);
        assert_eq!(sent, Some(WatchAction::Answer("one".to_owned(), deny)));
        letter(&mut state, 'r', SETTLE);
        assert_eq!(state.press(Key::Esc, SETTLE), None);
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
        assert_eq!(
            (id.as_str(), sent.answers.unwrap()["Which?"].clone()),
            ("q", json!("Postgres"))
        );
    }

    #[test]
    fn undo_and_pause_go_to_the_daemon_and_interrupt_always_ends() {
        let mut state = showing(vec![ask("one", Tone::Open, 1)]);
        assert_eq!(letter(&mut state, 'u', SETTLE), None);
        letter(&mut state, 'w', SETTLE);
        assert_eq!(letter(&mut state, 'u', SETTLE), Some(WatchAction::Undo("one".to_owned())));
        let hold = PauseRequest { mode: PauseMode::Hold };
        assert_eq!(letter(&mut state, 'p', SETTLE), Some(WatchAction::Pause(hold)));
        state.is_paused = true;
        assert_eq!(letter(&mut state, 'p', SETTLE), Some(WatchAction::Resume));
        letter(&mut state, 'r', SETTLE);
        assert_eq!(state.press(Key::Ctrl('c'), SETTLE), Some(WatchAction::Quit));
    }
}
