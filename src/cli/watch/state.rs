//! What `watch` shows, and what its keys do. Pure: time is an argument.

use countersign_bridge::card::terminal;
use countersign_domain::{
    Decision, Scope,
    pause::PauseMode,
    wire::{AnswerRequest, AskView, PauseRequest},
};
use countersign_port::{Card, Tone};
use serde_json::{Map, Value};

/// How long a request must be in sight before a key answers it, in milliseconds.
// SECURITY: a key that was meant for another request must not meet one that takes its place.
const SETTLE: i64 = 700;

/// How many lines one key scrolls.
const SCROLL: u16 = 10;

/// A key, as far as `watch` knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchKey {
    Letter(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Erase,
    Leave,
    Interrupt,
}

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
    pub(super) scroll: u16,
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

    pub(super) fn paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(super) fn say(&mut self, sentence: String) {
        self.said = sentence;
    }

    pub(super) fn lost(&mut self, why: String) {
        self.lost = Some(why);
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

    /// Does what a key means.
    pub(super) fn press(&mut self, key: WatchKey, now: i64) -> Option<WatchAction> {
        if key == WatchKey::Interrupt {
            return Some(WatchAction::Quit);
        }
        match std::mem::take(&mut self.awaited) {
            Awaited::Help => None,
            Awaited::Yes(id) => self.confirm(id, key),
            Awaited::Reason(id, text) => self.type_reason(id, text, key),
            Awaited::Key => self.plain(key, now),
        }
    }

    fn plain(&mut self, key: WatchKey, now: i64) -> Option<WatchAction> {
        let place = self.place().unwrap_or_default();
        match key {
            WatchKey::Letter('q') => return Some(WatchAction::Quit),
            WatchKey::Letter('j') | WatchKey::Down => self.choose(place + 1, now),
            WatchKey::Letter('k') | WatchKey::Up => self.choose(place.saturating_sub(1), now),
            WatchKey::Letter(' ') | WatchKey::PageDown => {
                self.scroll = self.scroll.saturating_add(SCROLL);
            }
            WatchKey::Letter('b') | WatchKey::PageUp => {
                self.scroll = self.scroll.saturating_sub(SCROLL);
            }
            WatchKey::Letter('?') => self.awaited = Awaited::Help,
            WatchKey::Letter('p') if self.is_paused => return Some(WatchAction::Resume),
            WatchKey::Letter('p') => {
                return Some(WatchAction::Pause(PauseRequest { mode: PauseMode::Hold }));
            }
            WatchKey::Letter('u') => match self.last.clone() {
                Some(last) => return Some(WatchAction::Undo(last)),
                None => self.said = "Nothing was answered here yet.".to_owned(),
            },
            WatchKey::Letter(letter @ ('a' | 'w' | 'd' | 'r' | '1'..='9')) => {
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

    fn confirm(&mut self, id: String, key: WatchKey) -> Option<WatchAction> {
        // FAIL-CLOSED: any other key leaves it as it is, and so does a change of the list.
        let is_there = self.current().is_some_and(|it| it.ask.id == id);
        match key {
            WatchKey::Letter('y') if is_there => {
                Some(self.send(id, AnswerRequest::new(Decision::Approve)))
            }
            _ => {
                self.said = "Not approved.".to_owned();
                None
            }
        }
    }

    fn type_reason(&mut self, id: String, mut text: String, key: WatchKey) -> Option<WatchAction> {
        match key {
            WatchKey::Leave => {
                self.said = "Not denied.".to_owned();
                return None;
            }
            WatchKey::Enter => {
                let reason = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                let deny = AnswerRequest { reason, ..AnswerRequest::new(Decision::Deny) };
                return Some(self.send(id, deny));
            }
            WatchKey::Erase => {
                text.pop();
            }
            WatchKey::Letter(letter) => text.push(letter),
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
            (self.chosen, self.chosen_at, self.scroll) = (id, now, 0);
        }
    }
}

/// The answer to the only question of an ask by the number of an option.
fn option(ask: &AskView, digit: char) -> Result<AnswerRequest, String> {
    let [question] = ask.call.questions.as_slice() else {
        return Err(format!("It asks several questions: countersign answer {} …", ask.id));
    };
    if question.multi_select {
        return Err(format!("It takes several options: countersign answer {} …", ask.id));
    }
    let at = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok()?.checked_sub(1));
    let Some(choice) = at.and_then(|at| question.options.get(at)) else {
        return Err(format!("There is no option {digit}."));
    };
    let answers = Map::from_iter([(question.question.clone(), Value::from(choice.label.clone()))]);
    Ok(AnswerRequest { answers: Some(answers), ..AnswerRequest::new(Decision::Approve) })
}

#[cfg(test)]
mod tests;
