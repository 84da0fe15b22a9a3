//! What everybody in a scenario saw, and whether it can all be true at once.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};
use tokio::sync::watch;

/// The books of one fixture. A case is one call, named by a word in its command that is used once.
#[derive(Default)]
pub struct Ledger {
    books: Mutex<Books>,
    /// Counts presses as they are sent.
    pub pressed: watch::Sender<u64>,
    /// Counts events as an observer reads them.
    pub happened: watch::Sender<u64>,
}

#[derive(Default)]
struct Books {
    cases: BTreeMap<String, Case>,
    events: BTreeMap<i64, Happened>,
    resume: i64,
    unproven: Vec<(String, usize)>,
}

/// All that is known of one call.
#[derive(Debug, Default, Clone)]
pub struct Case {
    /// Who pressed what, and what they were told.
    pub presses: Vec<Press>,
    /// What its agent got, every time it asked.
    pub got: Vec<Value>,
}

/// One press.
#[derive(Debug, Clone)]
pub struct Press {
    /// As the daemon names them: `Ana (telegram)`.
    pub by: &'static str,
    /// *Approve*, or *Deny*.
    pub approves: bool,
    /// What the presser was told, if anything came back.
    pub told: Option<String>,
}

/// An event of the daemon's own log.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    pub kind: String,
    pub ask: Option<String>,
    pub data: Value,
}

impl Press {
    /// Whether the presser was told that it was they who answered.
    pub fn is_acknowledged(&self) -> bool {
        matches!(self.told.as_deref(), Some("Approved once." | "Denied."))
    }

    /// Whether the presser was told that the store did not take it and nothing changed.
    pub fn was_refused_by_the_store(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.contains("nothing changed"))
    }
}

impl Ledger {
    /// An agent hands a call in.
    pub fn asks(&self, case: &str) {
        self.books().cases.entry(case.to_owned()).or_default();
    }

    /// Somebody presses; the result goes into [`Ledger::told`].
    pub fn presses(&self, case: &str, by: &'static str, approves: bool) -> usize {
        let mut books = self.books();
        let presses = &mut books.cases.entry(case.to_owned()).or_default().presses;
        presses.push(Press { by, approves, told: None });
        let at = presses.len() - 1;
        self.pressed.send_modify(|count| *count += 1);
        at
    }

    /// What became of a press. A presser who is told that it is uncertain has been told nothing.
    pub fn told(&self, case: &str, press: usize, words: Option<String>) {
        let words = words.filter(|words| !words.starts_with("Connection to the database lost"));
        let mut books = self.books();
        let entry = &mut books.cases.get_mut(case).unwrap().presses[press];
        entry.told = words;
        if entry.is_acknowledged() {
            books.unproven.push((case.to_owned(), press));
        }
    }

    /// What an agent got.
    pub fn got(&self, case: &str, answer: Value) {
        self.books().cases.get_mut(case).unwrap().got.push(answer);
    }

    /// An observer read an event. An event that is read twice must be the same.
    pub fn happened(&self, id: i64, event: Happened) {
        let before = self.books().events.insert(id, event.clone());
        assert!(before.is_none_or(|before| before == event), "event {id} changed: {event:?}");
        self.happened.send_modify(|count| *count += 1);
    }

    /// An observer whose line breaks now goes on here.
    pub fn go_on_at(&self, id: i64) {
        self.books().resume = id;
    }

    /// Where an observer goes on whose line broke.
    pub fn resume(&self) -> i64 {
        self.books().resume
    }

    /// Everything read so far.
    pub fn events(&self) -> BTreeMap<i64, Happened> {
        self.books().events.clone()
    }

    /// All cases so far.
    pub fn cases(&self) -> BTreeMap<String, Case> {
        self.books().cases.clone()
    }

    /// The acknowledged presses that no restart has been asked about yet.
    pub fn take_unproven(&self) -> Vec<(String, Press)> {
        let mut books = self.books();
        let unproven = std::mem::take(&mut books.unproven);
        let press = |(case, at): (String, usize)| {
            let press = books.cases[&case].presses[at].clone();
            (case, press)
        };
        unproven.into_iter().map(press).collect()
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap()
    }
}
