//! Whether all that was seen can be true at once: the promises, checked on the books of a fixture.

use super::ledger::{Case, Happened, Press};
use countersign::clock;
use serde_json::Value;
use std::collections::BTreeMap;

/// How an ask ended, from the daemon's own log.
#[derive(Debug, Clone)]
pub struct End {
    /// The ask's id.
    pub ask: String,
    /// `answered`, `expired` or `cancelled`.
    pub kind: String,
    /// The answer as it was committed.
    pub answer: Value,
}

impl End {
    /// Who decided, as the daemon names them.
    pub fn by(&self) -> String {
        let by = &self.answer["by"];
        let name = by["name"].as_str().unwrap_or_default();
        match by["platform"].as_str() {
            Some("inbox" | "api") => name.to_owned(),
            Some(platform) => format!("{name} ({platform})"),
            None => by["kind"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// The same as a card names them, whose details say where they pressed.
    fn name(&self) -> String {
        let by = self.by();
        by.split(" (").next().unwrap_or_default().to_owned()
    }

    /// Whether the call may run.
    pub fn approves(&self) -> bool {
        self.answer["decision"] == "approve"
    }

    /// When, as people are told.
    pub fn at(&self) -> String {
        clock::short(self.answer["at"].as_i64().unwrap())
    }

    /// How a card says it.
    pub fn line(&self) -> String {
        let (by, at) = (self.name(), self.at());
        match (self.kind.as_str(), self.approves()) {
            ("answered", true) => format!(" · {by}, {at}"),
            ("answered", false) => format!(" · denied by {by}, {at}"),
            ("expired", false) => format!(": not approved, {at}"),
            (kind, yes) => {
                format!("{kind} at {at}, approved: {yes}, which nobody should have done")
            }
        }
    }

    /// What a presser who comes too late is told.
    pub fn too_late(&self) -> String {
        let (by, at) = (self.by(), self.at());
        match (self.kind.as_str(), self.approves()) {
            ("answered", true) => format!("Already approved by {by} at {at}."),
            ("answered", false) => format!("Already denied by {by} at {at}."),
            _ => format!("Too late: nobody answered by {at}, so it was denied."),
        }
    }

    /// Whether this press is the one that decided.
    pub fn is_by(&self, press: &Press) -> bool {
        self.kind == "answered" && self.by() == press.by && self.approves() == press.approves
    }
}

/// The ends of all asks by case, from the log, and what is wrong with the log itself.
pub fn ends(events: &BTreeMap<i64, Happened>) -> (BTreeMap<String, End>, Vec<String>) {
    let (mut names, mut ends, mut wrong) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for event in events.values() {
        let Some(ask) = &event.ask else { continue };
        match event.kind.as_str() {
            "asked" => {
                let command = event.data.as_str().unwrap();
                names.insert(ask.clone(), case_in(command).unwrap());
            }
            "answered" | "expired" | "cancelled" => {
                let answer = event.data.clone();
                let end = End { ask: ask.clone(), kind: event.kind.clone(), answer };
                let Some(case) = names.get(ask).cloned() else {
                    wrong.push(format!("{ask} ended, and was never asked"));
                    continue;
                };
                if let Some(first) = ends.insert(case.clone(), end.clone()) {
                    wrong.push(format!("{case} has two answers: {first:?} and {end:?}"));
                }
            }
            _ => {}
        }
    }
    for (ask, case) in names {
        if ends.get(&case).is_none_or(|end| end.ask != ask) {
            wrong.push(format!("{case} was asked as {ask}, and that never ended"));
        }
    }
    (ends, wrong)
}

/// What contradicts the end of this case.
pub fn contradictions(case: &str, seen: &Case, end: &End) -> Vec<String> {
    let mut wrong = Vec::new();
    for press in &seen.presses {
        let Some(told) = press.told.as_deref() else { continue };
        let true_for_winner = press.is_acknowledged() && end.is_by(press);
        // A press can be brought again by its platform after a crash: then its own presser is told.
        if !true_for_winner && told != end.too_late() && !press.was_refused_by_the_store() {
            wrong.push(format!("{case}: {press:?}, but it ended so: {end:?}"));
        }
    }
    if seen.presses.iter().filter(|press| press.is_acknowledged()).count() > 1 {
        wrong.push(format!("{case}: two presses were told that they answered: {seen:?}"));
    }
    // Neither by nobody, nor by somebody who was told that nothing changed.
    let mut could = seen.presses.iter().filter(|press| !press.was_refused_by_the_store());
    if end.kind == "answered" && !could.any(|press| end.is_by(press)) {
        wrong.push(format!("{case}: nobody did this: {end:?}, {seen:?}"));
    }
    for got in &seen.got {
        let verdict = if end.approves() { "allow" } else { "deny" };
        let same = got["verdict"] == verdict && got["state"] == end.kind.as_str();
        if !same {
            wrong.push(format!("{case}: its agent got {got}, but it ended so: {end:?}"));
        }
    }
    if seen.got.is_empty() {
        wrong.push(format!("{case}: its agent never got an answer"));
    }
    wrong
}

/// The word that names a case, in a command or on a card.
pub fn case_in(text: &str) -> Option<String> {
    let start = text.find("case-")?;
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}
