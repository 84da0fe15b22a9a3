//! How fast a target is asked to show cards, and whose they are.

use countersign_domain::{Ask, call::Call};
use serde_json::json;
use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Requests within this time come at once.
const BURST: Duration = Duration::from_secs(10);
/// How long a target counts as slow after it asked to wait.
const SLOW: Duration = Duration::from_secs(60);
/// What a worker knows of how fast its target is asked to show cards.
#[derive(Debug, Default)]
pub(super) struct Rush {
    /// Cards that were posted on their own, with their crowds and asks.
    posted: VecDeque<(Instant, String, String)>,
    slow_until: Option<Instant>,
}

impl Rush {
    /// The target asked to wait.
    pub(super) fn slowed(&mut self) {
        self.slow_until = Some(Instant::now() + SLOW);
    }

    /// A card was posted on its own.
    pub(super) fn posted(&mut self, ask: &Ask, by_session: bool) {
        let crowd = crowd(&ask.body.call, by_session);
        self.posted.push_back((Instant::now(), crowd, ask.id.clone()));
    }

    pub(super) fn is_slow(&self) -> bool {
        self.slow_until.is_some_and(|until| Instant::now() < until)
    }

    /// The asks of this crowd whose cards were posted a moment ago.
    pub(super) fn recent(&mut self, crowd: &str) -> Vec<String> {
        while self.posted.front().is_some_and(|(at, ..)| at.elapsed() > BURST) {
            self.posted.pop_front();
        }
        let of_it = self.posted.iter().filter(|(_, whose, _)| whose == crowd);
        of_it.map(|(.., ask)| ask.clone()).collect()
    }
}

/// Whose requests share a message: those of one agent in one folder of one machine, and of one
/// session where each has a place of its own.
pub(super) fn crowd(call: &Call, by_session: bool) -> String {
    let Call { agent, host, worker, cwd, session, .. } = call;
    match by_session {
        true => json!([agent, host, worker, cwd, session]).to_string(),
        false => json!([agent, host, worker, cwd]).to_string(),
    }
}
